"""Two simulated engines behind the same protocols as Spark, and what makes them true.

`microbatch` is Spark's way, `operators` the papers'; `batches` has models of jobs, `fit` makes them from recordings of
real runs, `check` plays one again. Nothing is imported here: whoever simulates need not wait for what only fits.
"""
