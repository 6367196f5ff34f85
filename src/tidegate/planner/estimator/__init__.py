"""The capacity estimator: the highest rate that a configuration of a query sustains, by controlled injection."""
