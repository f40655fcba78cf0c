"""Planning of new nodes: how many, how large, and which pods share them.

In: pod groups, node options and what is left of limits. Out: planned nodes and the lower bound of their cost.
Used by `attempt`, through `NodePlanner`.
"""
