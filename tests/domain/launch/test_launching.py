from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import claim, instance, instance_type, node_class, node_pool
from treenail.domain.launch.launch_options import LaunchOptions
from treenail.domain.launch.launching import Launch, deal, launch_again, launch_token, launches
from treenail.domain.model import labels
from treenail.domain.model.fleets import FleetRequest, Override
from treenail.domain.model.instance_types import InstanceType, Offering
from treenail.domain.model.node_classes import Kubelet
from treenail.domain.model.node_pools import Generation
from treenail.domain.model.nodes import NodeClaim
from treenail.domain.model.requirements import Requirement, Requirements
from treenail.domain.model.taints import UNREGISTERED, Effect, Taint

LARGE = instance_type("m5.large", 2, price=0.1)
XLARGE = instance_type("m5.xlarge", 4, price=0.2)
TYPES = (LARGE, XLARGE)


def wanting(
    name: str,
    *types: str,
    capacity: Sequence[str] = (),
    zones: Sequence[str] = (),
    with_labels: dict[str, str] | None = None,
    generation: Generation = Generation.V1,
) -> NodeClaim:
    wanted = []
    if capacity:
        wanted.append(Requirement(labels.CAPACITY_TYPE, frozenset(capacity)))
    if zones:
        wanted.append(Requirement(labels.ZONE, frozenset(zones)))
    return replace(
        claim(name),
        instance_types=types or ("m5.large", "m5.xlarge"),
        requirements=Requirements(wanted),
        labels=with_labels or {},
        generation=generation,
    )


def group(
    *claims: NodeClaim, types: Sequence[InstanceType] = TYPES
) -> tuple[tuple[Launch, ...], tuple[str, ...]]:
    return launches(
        claims,
        pool=node_pool(),
        node_class=node_class(),
        buyable=LaunchOptions(types),
        cluster_name="demo",
    )


def only(*claims: NodeClaim, types: Sequence[InstanceType] = TYPES) -> FleetRequest:
    """Return the one call that the claims make."""
    calls, hopeless = group(*claims, types=types)
    assert hopeless == ()
    assert len(calls) == 1
    return calls[0].request


def again(*claims: NodeClaim, types: Sequence[InstanceType] = TYPES) -> Launch | None:
    return launch_again(
        claims,
        pool=node_pool(),
        node_class=node_class(),
        buyable=LaunchOptions(types),
        cluster_name="demo",
    )


def marked(launch: Launch, *claims: NodeClaim) -> list[NodeClaim]:
    marks = launch.marks()
    return [replace(c, annotations={labels.LAUNCH: str(marks[c.name])}) for c in claims]


def with_mark(name: str, index: int, provider_id: str = "") -> NodeClaim:
    return claim(name, provider_id=provider_id, annotations={labels.LAUNCH: f"token/{index}/digest"})


# --- grouping


def test_claims_that_ask_for_the_same_make_one_call() -> None:
    calls, _ = group(wanting("c2"), wanting("c1"), wanting("c3"))

    assert [(call.claims, call.request.count) for call in calls] == [(("c1", "c2", "c3"), 3)]


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(wanting("c2", "m5.large"), id="other types"),
        pytest.param(wanting("c2", zones=("a",)), id="other zones"),
        pytest.param(wanting("c2", capacity=(labels.ON_DEMAND,)), id="another capacity type"),
        pytest.param(wanting("c2", with_labels={"team": "web"}), id="other labels"),
        pytest.param(replace(wanting("c2"), taints=(Taint("team", Effect.NO_SCHEDULE),)), id="other taints"),
        pytest.param(
            replace(wanting("c2"), startup_taints=(Taint("boot", Effect.NO_SCHEDULE),)), id="startup taints"
        ),
        pytest.param(
            replace(wanting("c2"), annotations={labels.MIN_VALUES_RELAXED: "true"}), id="relaxed minValues"
        ),
    ],
)
def test_claims_that_ask_for_different_things_make_calls_of_their_own(other: NodeClaim) -> None:
    calls, _ = group(wanting("c1"), other)

    assert [call.claims for call in calls] == [("c1",), ("c2",)]


def test_a_thousand_claims_are_the_most_for_one_call() -> None:
    calls, _ = group(*(wanting(f"c{number:04}") for number in range(1001)))

    assert [call.request.count for call in calls] == [1000, 1]


def test_a_claim_for_which_nothing_is_offered_any_more_is_hopeless() -> None:
    calls, hopeless = group(wanting("c1", "p3.2xlarge"), wanting("c2", zones=("z",)), wanting("c3"))

    assert hopeless == ("c1", "c2")
    assert [call.claims for call in calls] == [("c3",)]


def test_offerings_that_ran_out_are_not_asked_for() -> None:
    gone = tuple(replace(o, available=o.zone != "a") for o in LARGE.offerings)

    request = only(wanting("c1", "m5.large"), types=(replace(LARGE, offerings=gone),))

    assert {o.zone for o in request.overrides} == {"b"}


def test_a_call_lists_the_cheapest_types_first_each_in_all_its_zones() -> None:
    request = only(wanting("c1", "m5.xlarge", "m5.large", capacity=(labels.ON_DEMAND,)))

    assert request.overrides == (
        Override("m5.large", "a", 0.1),
        Override("m5.large", "b", 0.1),
        Override("m5.xlarge", "a", 0.2),
        Override("m5.xlarge", "b", 0.2),
    )


@pytest.mark.parametrize(("generation", "most"), [(Generation.V1, 60), (Generation.V1ALPHA5, 20)])
def test_a_call_lists_the_cheapest_types_only(generation: Generation, most: int) -> None:
    many = tuple(instance_type(f"t{n:02}", 2, price=1 + n / 1000) for n in range(70))

    request = only(wanting("c1", *(t.name for t in many), generation=generation), types=many)

    assert [o.instance_type for o in request.overrides[::2]] == [t.name for t in many[:most]]


def test_a_call_lists_no_more_than_ec2_takes() -> None:
    zones = ("a", "b", "c", "d", "e", "f")
    many = tuple(instance_type(f"t{n:02}", 2, price=1 + n / 1000, zones=zones) for n in range(60))

    request = only(wanting("c1", *(t.name for t in many)), types=many)

    assert len(request.overrides) == 300
    assert request.overrides[-1].instance_type == "t49"


def test_spot_is_bought_where_it_may_be() -> None:
    assert only(wanting("c1")).capacity_type == labels.SPOT
    assert only(wanting("c1", capacity=(labels.SPOT,))).capacity_type == labels.SPOT
    assert only(wanting("c1", capacity=(labels.ON_DEMAND,))).capacity_type == labels.ON_DEMAND


def test_without_spot_on_offer_on_demand_is_bought() -> None:
    on_demand = tuple(replace(o, available=o.capacity_type == labels.ON_DEMAND) for o in LARGE.offerings)

    request = only(wanting("c1", "m5.large"), types=(replace(LARGE, offerings=on_demand),))

    assert request.capacity_type == labels.ON_DEMAND


def dear_spot() -> InstanceType:
    """A type whose spot price in zone b is above the price on demand, and in zone a below it."""
    return replace(
        LARGE,
        offerings=(
            Offering("a", labels.ON_DEMAND, 0.1),
            Offering("a", labels.SPOT, 0.04),
            Offering("b", labels.SPOT, 0.2),
        ),
    )


def test_spot_that_costs_more_than_the_cheapest_on_demand_is_left_out() -> None:
    request = only(wanting("c1", "m5.large"), types=(dear_spot(),))

    assert [(o.zone, o.price) for o in request.overrides] == [("a", 0.04)]


def test_where_all_spot_is_dearer_on_demand_is_bought() -> None:
    dear = replace(LARGE, offerings=(Offering("a", labels.ON_DEMAND, 0.1), Offering("b", labels.SPOT, 0.2)))

    assert only(wanting("c1", "m5.large"), types=(dear,)).capacity_type == labels.ON_DEMAND


def test_dear_spot_is_bought_where_nothing_else_may_be() -> None:
    request = only(wanting("c1", "m5.large", capacity=(labels.SPOT,)), types=(dear_spot(),))

    assert [o.zone for o in request.overrides] == ["a", "b"]


def test_a_call_says_what_the_nodes_are_to_be_like() -> None:
    team, boot = Taint("team", Effect.NO_SCHEDULE), Taint("boot", Effect.NO_SCHEDULE)
    one = replace(wanting("c1", with_labels={"tier": "web"}), taints=(team,), startup_taints=(boot,))

    request = only(one)

    assert request.labels == {"tier": "web", labels.CAPACITY_TYPE: labels.SPOT}
    assert request.taints == (team, boot, UNREGISTERED)
    assert request.tags == {
        "kubernetes.io/cluster/demo": "owned",
        "eks:eks-cluster-name": "demo",
        labels.NODEPOOL: "default",
        "treenail.sh/launch": request.token,
    }


def test_a_pools_kubelet_settings_come_before_the_node_classs() -> None:
    pool = replace(node_pool(), kubelet=Kubelet(max_pods=20))
    buyable = LaunchOptions(TYPES)
    calls, _ = launches(
        [wanting("c1")], pool=pool, node_class=node_class(), buyable=buyable, cluster_name="demo"
    )

    assert calls[0].request.kubelet == Kubelet(max_pods=20)
    assert only(wanting("c1")).kubelet == node_class().kubelet


def test_a_users_tags_do_not_overrule_ours() -> None:
    tagged = replace(node_class(), tags={"treenail.sh/launch": "mine", "team": "web"})
    buyable = LaunchOptions(TYPES)
    calls, _ = launches(
        [wanting("c1")], pool=node_pool(), node_class=tagged, buyable=buyable, cluster_name="demo"
    )

    assert calls[0].request.tags["team"] == "web"
    assert calls[0].request.tags["treenail.sh/launch"] == calls[0].request.token


NAMES = st.lists(st.sampled_from([f"c{n}" for n in range(9)]), unique=True)
KINDS: st.SearchStrategy[dict[str, Any]] = st.sampled_from(
    [{}, {"capacity": ("on-demand",)}, {"zones": ("a",)}, {"with_labels": {"team": "web"}}, {"zones": ("z",)}]
)


@given(data=st.data(), names=NAMES)
def test_every_claim_is_in_one_call_or_hopeless_whatever_their_order(
    data: st.DataObject, names: list[str]
) -> None:
    claims = [wanting(name, **data.draw(KINDS)) for name in names]

    calls, hopeless = group(*claims)
    reordered = group(*data.draw(st.permutations(claims)))

    assert sorted([*hopeless, *(name for call in calls for name in call.claims)]) == sorted(names)
    assert {call.request.token for call in calls} == {c.request.token for c in reordered[0]}
    assert set(hopeless) == set(reordered[1])
    for call in calls:
        assert call.request.count == len(call.claims)
        assert call.request.token == launch_token(call.claims)


# --- marks, and the same call again


def test_marks_number_the_claims_of_a_call() -> None:
    calls, _ = group(wanting("c2"), wanting("c1"))
    marks = calls[0].marks()

    assert {name: (m.token, m.index) for name, m in marks.items()} == {
        "c1": (calls[0].request.token, 0),
        "c2": (calls[0].request.token, 1),
    }
    assert {m.digest for m in marks.values()} == {calls[0].request.digest()}


def test_the_same_call_is_made_again_for_the_same_claims_in_whatever_order() -> None:
    calls, _ = group(wanting("c1"), wanting("c2"))
    claims = marked(calls[0], wanting("c1"), wanting("c2"))

    assert again(*claims) == calls[0]
    assert again(*reversed(claims)) == calls[0]


def test_the_same_call_is_made_again_when_some_claims_say_already_what_they_got() -> None:
    decided = {"team": "a", labels.NODEPOOL: "default"}
    calls, _ = group(wanting("c1", with_labels=decided), wanting("c2", with_labels=decided))
    one, other = marked(calls[0], *(wanting(name, with_labels=decided) for name in ("c1", "c2")))
    got = {labels.INSTANCE_TYPE: "m5.large", labels.ZONE: "a", labels.CAPACITY_TYPE: "spot"}

    assert again(replace(one, labels={**decided, **got}), other) == calls[0]
    assert decided.items() <= calls[0].request.labels.items()


def test_a_call_cannot_be_repeated_for_fewer_claims() -> None:
    calls, _ = group(wanting("c1"), wanting("c2"))

    assert again(*marked(calls[0], wanting("c1"))) is None
    assert again(*marked(calls[0], wanting("c2"))) is None


def test_a_call_cannot_be_repeated_when_other_offers_are_left() -> None:
    calls, _ = group(wanting("c1"))
    gone = replace(LARGE, offerings=tuple(replace(o, available=o.zone != "a") for o in LARGE.offerings))

    assert again(*marked(calls[0], wanting("c1")), types=(gone, XLARGE)) is None
    assert again(*marked(calls[0], wanting("c1")), types=()) is None


def test_a_call_can_be_repeated_at_other_prices() -> None:
    calls, _ = group(wanting("c1"))
    dearer = tuple(
        replace(t, offerings=tuple(replace(o, price=o.price * 1.5) for o in t.offerings)) for t in TYPES
    )

    assert again(*marked(calls[0], wanting("c1")), types=dearer) is not None


def test_without_claims_or_their_marks_there_is_no_call_to_repeat() -> None:
    calls, _ = group(wanting("c1"))

    assert again() is None
    assert again(*marked(calls[0], wanting("c1")), wanting("c2")) is None


# --- dealing


def test_instances_are_dealt_in_the_order_of_the_marks() -> None:
    claims = [with_mark("z", 0), with_mark("a", 1)]

    dealt = deal(claims, [instance("i-2"), instance("i-1")])

    assert {name: i.id for name, i in dealt.items()} == {"z": "i-1", "a": "i-2"}


def test_of_too_few_instances_the_first_claims_get_theirs() -> None:
    claims = [with_mark(f"c{n}", n) for n in range(3)]

    assert list(deal(claims, [instance("i-1"), instance("i-2")])) == ["c0", "c1"]


def test_an_instance_some_claim_has_is_not_dealt_again() -> None:
    taken = instance("i-1")
    claims = [with_mark("c0", 0, taken.provider_id), with_mark("c1", 1), with_mark("c2", 2)]

    dealt = deal(claims, [taken, instance("i-2")])

    assert {name: i.id for name, i in dealt.items()} == {"c1": "i-2"}


def test_unmarked_claims_are_dealt_to_by_name() -> None:
    assert list(deal([claim("b"), claim("a")], [instance("i-1")])) == ["a"]


@given(count=st.integers(0, 6), given_=st.integers(0, 8), recorded=st.integers(0, 6), data=st.data())
def test_dealing_again_gives_the_same_wherever_it_was_cut_off(
    count: int, given_: int, recorded: int, data: st.DataObject
) -> None:
    instances = [instance(f"i-{n}") for n in range(given_)]
    claims = [with_mark(f"c{n}", n) for n in range(count)]
    whole = deal(claims, instances)

    some = list(whole)[:recorded]  # their instances were written down before the process died
    cut_off = [
        replace(c, provider_id=whole[c.name].provider_id) if c.name in some else c
        for c in data.draw(st.permutations(claims))
    ]
    rest = deal(cut_off, data.draw(st.permutations(instances)))

    assert len({i.id for i in whole.values()}) == len(whole) == min(count, given_)
    assert {**{name: whole[name] for name in some}, **rest} == whole
