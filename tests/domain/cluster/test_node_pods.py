"""Pods by node: in order, with the sum of their requests."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from tests.builders import bound_pod, resources
from treenail.domain.cluster.node_pods import NodePods
from treenail.domain.model.pods import Pod
from treenail.domain.model.resources import NOTHING, Resources, total

NODES = ("a", "b")
SIZES = (resources(cpu=1, pods=1), resources(cpu=2, pods=1), resources(gpu=1, pods=1))
COMES, LEAVES = "comes", "leaves"


def bound(number: int, node: str, requests: Resources) -> Pod:
    made = bound_pod(f"p{number}", node)
    return replace(made, spec=replace(made.spec, requests=requests))


steps = st.tuples(
    st.sampled_from((COMES, LEAVES)), st.integers(0, 9), st.sampled_from(NODES), st.sampled_from(SIZES)
)


@given(st.lists(steps, max_size=60))
def test_pods_of_a_node_are_in_order_and_their_sum_is_that_of_their_requests(
    history: list[tuple[str, int, str, Resources]],
) -> None:
    known, there = NodePods(), dict[str, Pod]()
    for what, number, node, requests in history:
        one = bound(number, node, requests)
        before = there.pop(one.uid, None)
        if before is not None and (what == LEAVES or before.node_name != node):
            known.remove(before)
        if what == COMES:
            known.put(one)
            there[one.uid] = one
    for node in NODES:
        own = [there[uid] for uid in sorted(there) if there[uid].node_name == node]
        assert list(known.on(node)) == own
        summed, expected = known.requests_on(node), total(p.spec.requests for p in own)
        assert {name: amount for name, amount in summed.items() if amount} == dict(expected)


def test_a_pod_that_is_not_on_a_node_leaves_it_as_it_is() -> None:
    known = NodePods()
    known.put(bound(1, "a", SIZES[0]))
    known.remove(bound(2, "a", SIZES[0]))
    known.remove(bound(1, "b", SIZES[0]))
    assert known.requests_on("a") == SIZES[0]
    assert (known.on("b"), known.requests_on("b")) == ((), NOTHING)
