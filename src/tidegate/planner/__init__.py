"""Capacity planning: what a query needs, from short runs on a small testbed. No clock, no I/O."""
