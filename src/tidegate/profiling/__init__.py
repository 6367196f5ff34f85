"""Runs that measure: profiles for policies that need one in advance, and the testbeds and searches of a plan."""
