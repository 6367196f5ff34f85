"""Two simulated engines behind the same protocols as Spark, and what makes them true: `microbatch` (Spark's way) and
`operators` (the papers'); `batches` has models of jobs, `fit` makes them from a `recording` of a real run, `check` plays
one again. Nothing is imported here: whoever simulates need not wait for what only fits.
"""
