"""Placement of pods: onto existing nodes, or into the domains where they get new ones."""
