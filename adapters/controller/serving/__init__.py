"""Ports that serve HTTP: admission of connections, deadlines, and answers."""
