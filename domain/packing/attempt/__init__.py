"""One attempt at a plan, and the comparison of two."""
