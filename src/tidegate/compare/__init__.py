"""Comparisons of policies: a grid of runs, executed, stored, and summarised over seeds."""
