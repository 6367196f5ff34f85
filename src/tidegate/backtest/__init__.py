"""What policies would have cost on a user's own traffic, which one to choose, and settings searched for it."""
