from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import at, claim, conditions, instance
from treenail.domain.lifecycle.garbage import Garbage, garbage
from treenail.domain.model import labels
from treenail.domain.model.fleets import LAUNCH_TAG, Instance, InstanceState
from treenail.domain.model.nodes import LAUNCHED, NodeClaim

NOW = at(1000)
NOTHING = Garbage(instances=(), claims=())


def launched(name: str, of: Instance, *, since: float = 0, leaving: bool = False) -> NodeClaim:
    made = claim(name, provider_id=of.provider_id, leaving=leaving)
    return replace(made, conditions=conditions(LAUNCHED, since=since))


def marked(name: str, *, leaving: bool = False) -> NodeClaim:
    return claim(name, leaving=leaving, annotations={labels.LAUNCH: "5f1e/0/digest"})


def stray(*instances: Instance, claims: tuple[NodeClaim, ...] = ()) -> tuple[str, ...]:
    return garbage(instances, claims, listed_at=NOW).instances


def bereft(*claims: NodeClaim, instances: tuple[Instance, ...] = ()) -> list[str]:
    return [c.name for c in garbage(instances, claims, listed_at=NOW).claims]


def test_an_instance_and_its_claim_are_no_garbage() -> None:
    assert garbage((instance(),), (launched("c1", instance()),), listed_at=NOW) == NOTHING


def test_an_instance_without_a_claim_is_garbage() -> None:
    assert stray(instance("i-2"), instance("i-1")) == ("i-1", "i-2")


@pytest.mark.parametrize(("age", "found"), [(29.9, ()), (30, ("i-1",))])
def test_a_young_instance_is_let_alone(age: float, found: tuple[str, ...]) -> None:
    assert stray(instance(launched=1000 - age)) == found


@pytest.mark.parametrize("state", list(InstanceState))
def test_an_instance_that_ends_is_nobodys_concern(state: InstanceState) -> None:
    ends = state in (InstanceState.SHUTTING_DOWN, InstanceState.TERMINATED)

    assert stray(instance(state=state)) == (() if ends else ("i-1",))


def test_an_instance_that_some_claim_is_about_to_get_is_let_alone() -> None:
    bought = instance(tags={LAUNCH_TAG: "5f1e"})

    assert stray(bought, claims=(marked("c1"),)) == ()


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(marked("c1", leaving=True), id="its claim is leaving"),
        pytest.param(replace(marked("c1"), provider_id="aws:///a/i-9"), id="its claim has another"),
        pytest.param(replace(marked("c1"), annotations={labels.LAUNCH: "77aa/0/x"}), id="another call's"),
        pytest.param(claim("c1"), id="unmarked"),
    ],
)
def test_an_instance_no_claim_will_get_is_garbage(other: NodeClaim) -> None:
    assert stray(instance(tags={LAUNCH_TAG: "5f1e"}), claims=(other,)) == ("i-1",)


def test_an_instance_of_a_claim_that_cannot_be_read_now_is_let_alone() -> None:
    known = (instance("i-1").provider_id,)

    found = garbage((instance("i-1"), instance("i-2")), (), listed_at=NOW, known=known)

    assert found.instances == ("i-2",)


def test_an_instance_without_a_tag_is_not_what_an_unmarked_claim_waits_for() -> None:
    assert stray(instance(), claims=(claim("c1"),)) == ("i-1",)


def test_a_claim_whose_instance_is_gone_is_garbage() -> None:
    lost = (launched("c2", instance("i-2")), launched("c1", instance("i-1")))

    assert bereft(*lost, instances=(instance("i-3"),)) == ["c1", "c2"]


@pytest.mark.parametrize(("age", "found"), [(89.9, []), (90, ["c1"])])
def test_an_instance_new_to_its_claim_may_not_be_listed_yet(age: float, found: list[str]) -> None:
    assert bereft(launched("c1", instance(), since=1000 - age)) == found


def test_a_claim_that_does_not_say_since_when_counts_from_its_making() -> None:
    assert bereft(claim("c1", provider_id="aws:///a/i-1")) == ["c1"]


def test_claims_without_an_instance_and_those_leaving_are_let_alone() -> None:
    assert bereft(claim("c1"), launched("c2", instance(), leaving=True)) == []


@given(
    claims=st.lists(st.integers(0, 5), unique=True),
    instances=st.lists(st.integers(0, 5), unique=True),
)
def test_what_has_its_counterpart_is_never_garbage(claims: list[int], instances: list[int]) -> None:
    there = tuple(instance(f"i-{n}") for n in instances)
    known = tuple(launched(f"c{n}", instance(f"i-{n}")) for n in claims)

    found = garbage(there, known, listed_at=NOW)

    assert found.instances == tuple(f"i-{n}" for n in sorted(set(instances) - set(claims)))
    assert [c.name for c in found.claims] == [f"c{n}" for n in sorted(set(claims) - set(instances))]


def test_a_claim_whose_node_is_ready_is_no_garbage_whatever_the_listing_says() -> None:
    there, gone = launched("c1", instance("i-1")), launched("c2", instance("i-2"))

    found = garbage((), (there, gone), listed_at=NOW, ready=(there.provider_id,))

    assert [c.name for c in found.claims] == ["c2"]


@pytest.mark.parametrize(
    ("way", "since", "leaving", "found"),
    [
        pytest.param("on-demand", 0, False, ["c1"], id="its reservation ended"),
        pytest.param("reserved", 0, False, [], id="as it says"),
        pytest.param("on-demand", 950, False, [], id="so new that it may not be told yet"),
        pytest.param("on-demand", 0, True, [], id="on its way out"),
    ],
)
def test_a_claim_on_reserved_capacity_whose_instance_is_on_demand_is_named(
    way: str, since: float, *, leaving: bool, found: list[str]
) -> None:
    one = replace(instance(), capacity_type=way)
    reserved = replace(
        launched("c1", one, since=since, leaving=leaving), labels={labels.CAPACITY_TYPE: labels.RESERVED}
    )

    assert [c.name for c in garbage((one,), (reserved,), listed_at=NOW).unreserved] == found


@pytest.mark.parametrize(
    ("static", "expected"),
    [
        ((), Garbage(instances=("i-1",), claims=(launched("c2", instance("i-2")),))),
        (("default",), NOTHING),
    ],
)
def test_what_is_left_over_of_static_pools_is_let_alone(static: tuple[str, ...], expected: Garbage) -> None:
    nobodys = instance("i-1", tags={labels.NODEPOOL: "default"})
    gone = launched("c2", instance("i-2"))

    assert garbage((nobodys,), (gone,), listed_at=NOW, static_pools=static) == expected
