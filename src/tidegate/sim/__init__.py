"""Two simulated engines with the same protocols as Spark, and the tools to calibrate and validate them.

`microbatch` simulates Spark, `operators` the engines of the papers. `batch_model` has the models of jobs, `fit` fits
them to recordings of real runs, and `check` compares a replay with a recording. Nothing is imported here, so that a
simulation does not pay for importing the fitting code.
"""
