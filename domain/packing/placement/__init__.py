"""Placement of pods: onto existing nodes, or into the domains where they get new ones.

In: pod classes, their topology constraints, and what is free. Out: the outcome's nominations, and pod groups
that need new nodes. Used by `attempt` and, for existing nodes alone, by `one_by_one`.
"""
