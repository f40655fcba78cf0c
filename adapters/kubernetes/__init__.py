"""The API server: connection, watches and writes."""
