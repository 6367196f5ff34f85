"""Backtests: what policies would have cost on a user's own traffic, which one to choose, and tuned settings for it."""
