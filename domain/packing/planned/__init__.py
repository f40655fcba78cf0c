"""Planned nodes while a plan is made, and how they become the claims of a plan."""
