"""The API server: how it is reached, watched and written to."""
