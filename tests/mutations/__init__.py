"""Objects at the limits of what an API server takes, one change of a plain object each."""
