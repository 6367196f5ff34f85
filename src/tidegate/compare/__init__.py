"""Policies side by side: a grid of runs, executed and kept, summed up over seeds."""
