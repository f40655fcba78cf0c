"""The model of the cluster: facts joined, promises kept, snapshots taken.

In: facts of the watches and plans. Out: changes, existing nodes and snapshots. Used by ClusterState, and
by all packages that look at nodes in use.
"""
