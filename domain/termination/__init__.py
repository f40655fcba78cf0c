"""Nodes on their way out: cordon, drain, detach, terminate, let go.

In: a node, its pods and what is known of its end. Out: the next step. Used by TerminationActor.
"""
