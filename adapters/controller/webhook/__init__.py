"""The conversion webhook: what it answers, how it is served, and how the API server comes to trust it."""
