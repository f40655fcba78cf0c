"""Decisions on pending pods: when to decide, what of a plan is kept, when refused pods are retried.

In: snapshots and plans. Out: promises and new claims. Used by ClusterState, PodWatcher, Batcher and
NodePoolSelector.
"""
