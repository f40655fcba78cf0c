"""Pools with a number of nodes that must be refused, by what is wrong with them."""

from __future__ import annotations

from typing import Final

from tests.adapters.api.builders import node_pool_tree
from tests.adapters.api.schema.trees import Refused

REFUSED_STATIC_POOLS: Final[dict[str, Refused]] = {
    "replicas below zero": Refused(
        node_pool_tree(replicas=-1),
        "spec.replicas",
        "should be greater than or equal to 0",
        "-1 must not be negative",
    ),
    "replicas in words": Refused(
        node_pool_tree(replicas="three"),
        "spec.replicas",
        "must be of type integer",
        'expected a whole number, got text "three"',
    ),
    "half a replica": Refused(
        node_pool_tree(replicas=1.5),
        "spec.replicas",
        "must be of type integer",
        "1.5",
    ),
    "memory as the limit of a static pool": Refused(
        node_pool_tree(replicas=1, limits={"memory": "1Gi"}),
        "spec.limits",
        "may only name nodes beside replicas",
        "may only name nodes beside spec.replicas",
    ),
    "no nodes and a weight": Refused(
        node_pool_tree(replicas=0, weight=100),
        "spec.weight",
        "cannot stand beside replicas",
        "cannot stand beside spec.replicas",
    ),
    "negative limit of a static pool": Refused(
        node_pool_tree(replicas=1, limits={"nodes": "-1"}),
        "spec.limits.nodes",
        "should match",
        "must not be",
    ),
    "weight of a static pool": Refused(
        node_pool_tree(replicas=1, weight=1),
        "spec.weight",
        "cannot stand beside replicas",
        "cannot stand beside spec.replicas",
    ),
    "limit of a static pool": Refused(
        node_pool_tree(replicas=1, limits={"nodes": 1, "cpu": 1}),
        "spec.limits",
        "may only name nodes beside replicas",
        "may only name nodes beside spec.replicas",
    ),
    "replicas as text": Refused(
        node_pool_tree(replicas="3"), "spec.replicas", "must be of type integer", 'got text "3"'
    ),
    "replicas as a truth": Refused(
        node_pool_tree(replicas=True), "spec.replicas", "must be of type integer", "whole number"
    ),
    "replicas as a list": Refused(
        node_pool_tree(replicas=[3]), "spec.replicas", "must be of type integer", "whole number"
    ),
    "replicas by zone": Refused(
        node_pool_tree(replicas={"us-east-1a": 3}), "spec.replicas", "must be of type integer", "whole number"
    ),
    "limit of a static pool in words": Refused(
        node_pool_tree(replicas=1, limits={"nodes": "many"}), "spec.limits.nodes", "should match", "many"
    ),
    "limits of a static pool as a list": Refused(
        node_pool_tree(replicas=1, limits=["nodes"]), "spec.limits", "must be of type object", "mapping"
    ),
    "weight beyond its range of a static pool": Refused(
        node_pool_tree(replicas=1, weight=101), "spec.weight", "should be less than or equal to 100", "101"
    ),
    "GPUs as the limit of a static pool": Refused(
        node_pool_tree(replicas=3, limits={"nvidia.com/gpu": "8"}),
        "spec.limits",
        "may only name nodes beside replicas",
        "may only name nodes beside spec.replicas",
    ),
    "everything that a static pool may not have": Refused(
        node_pool_tree(replicas=3, weight=10, limits={"cpu": "8"}),
        "spec.weight",
        "cannot stand beside replicas",
        "cannot stand beside spec.replicas",
    ),
    "one replica too many": Refused(
        node_pool_tree(replicas=2**31),
        "spec.replicas",
        "should be less than or equal to 2147483647",
        "2147483648 is not between 0 and 2147483647",
    ),
    "weight of 0 of a static pool": Refused(
        node_pool_tree(replicas=1, weight=0),
        "spec.weight",
        "should be greater than or equal to 1",
        "0 is not",
    ),
    "a negative limit beside no replicas": Refused(
        node_pool_tree(replicas=0, limits={"nodes": "-3"}), "spec.limits.nodes", "should match", "must not be"
    ),
    "pods as the limit of a static pool": Refused(
        node_pool_tree(replicas=2, limits={"nodes": "3", "pods": "10"}),
        "spec.limits",
        "may only name nodes beside replicas",
        "may only name nodes beside spec.replicas",
    ),
}
