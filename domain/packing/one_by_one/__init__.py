"""Packing pod by pod, as Karpenter does, where there is not enough for all.

In: pod classes and an empty outcome. Out: planned nodes and the pod groups on them. Used by `attempt` for
the second attempt alone: it costs a step per pod, where the first costs one per class.
"""
