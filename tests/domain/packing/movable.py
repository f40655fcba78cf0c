"""Nodes that may go, claims that may come in their place, and strategies for both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

from hypothesis import strategies as st

from tests.domain.packing.problems import is_in
from treenail.domain.model import labels
from treenail.domain.model.instance_types import InstanceType
from treenail.domain.model.node_pools import ConsolidationPolicy
from treenail.domain.model.requirements import Requirement, Requirements
from treenail.domain.model.resources import Resources
from treenail.domain.packing.consolidation.consolidation_problem import CandidateNode, PoolTerms
from treenail.domain.packing.plan import PlannedClaim

ANY_WAY = is_in(labels.CAPACITY_TYPE, labels.SPOT, labels.ON_DEMAND)


def going(
    name: str = "node-1",
    *,
    pool: str = "default",
    price: float | None = 0.1,
    pods: int = 1,
    of: str = "m5.large",
    way: str = labels.ON_DEMAND,
    remaining: timedelta | None = None,
    least_saving: float = 0.0,
    surcharge: float = 0.0,
) -> CandidateNode:
    """A node with so many ordinary pods."""
    return CandidateNode(
        name=name,
        pool=pool,
        pods=tuple(f"{name}-{i}" for i in range(pods)),
        instance_type=of,
        zone="zone-a",
        capacity_type=way,
        price=price,
        surcharge=surcharge,
        remaining=remaining,
        least_saving=least_saving,
    )


def coming(
    types: Sequence[InstanceType], *requirements: Requirement, surcharge: float = 0.0, pool: str = "default"
) -> PlannedClaim:
    """A claim for any of `types`, in order of their cheapest offering."""
    asked = Requirements(requirements)
    prices = {one.name: sold.price for one in types if (sold := one.cheapest(asked)) is not None}
    names = sorted(prices, key=lambda name: prices[name])
    return PlannedClaim(
        pool=pool,
        pods=("web-0",),
        requirements=asked,
        instance_types=tuple(names),
        requests=Resources.parse({"cpu": 1, "pods": 1}),
        largest=Resources.parse({"cpu": 1000}),
        price=prices[names[0]],
        surcharge=surcharge,
    )


def at_least(count: int, requirement: Requirement) -> Requirement:
    return replace(requirement, min_values=count)


dollars = st.floats(0.0, 5.0)
candidates = st.builds(
    going,
    st.just("node"),
    pool=st.sampled_from(("a", "b", "c")),
    price=st.none() | dollars,
    pods=st.integers(0, 30),
    remaining=st.none() | st.timedeltas(timedelta(0), timedelta(days=3)),
    least_saving=st.sampled_from((0.0, 0.02, 0.5)),
    surcharge=st.floats(0.0, 0.1),
)
terms = st.builds(
    PoolTerms,
    policy=st.sampled_from(ConsolidationPolicy),
    payback=st.none() | st.timedeltas(timedelta(0), timedelta(days=1)),
    cost=st.floats(0.0, 50.0),
    disruption=st.floats(0.0, 500.0),
)
terms_of_all = st.fixed_dictionaries({"a": terms, "b": terms, "c": terms})
