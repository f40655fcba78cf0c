"""What pods ask about where other pods are."""
