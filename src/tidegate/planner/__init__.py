"""Capacity planning: what a query needs for a rate that no testbed can offer, and how sure that is."""
