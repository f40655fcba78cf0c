"""Topology: what pods ask about where other pods are."""
