from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.builders import START, bound_pod, claim, node, pending_pod, resources, spec, view
from tests.domain.models import IN_USE, daemon, lose, model, promise, see
from treenail.domain.cluster.cluster import ClusterModel
from treenail.domain.cluster.cluster_facts import Kind
from treenail.domain.model import labels
from treenail.domain.model.pods import HostPort, Owner, Phase, Pod, PodAffinityTerm
from treenail.domain.model.requirements import Requirement, Requirements
from treenail.domain.packing.problem import ExistingNode, Resident
from treenail.domain.packing.residents import Residents

WEB = {"app": "web", "a": "1"}
APART = PodAffinityTerm(topology_key=labels.HOSTNAME, anti=True)


def web(uid: str, on: str = "node-c1") -> Pod:
    return replace(bound_pod(uid, on), labels=WEB)


def room_of(known: ClusterModel, name: str = "c1") -> ExistingNode:
    return next(r for r in known.snapshot(START).existing_nodes if r.name == name)


def there(known: ClusterModel, name: str = "c1") -> dict[str, int]:
    """How many residents there are of each app."""
    counts: dict[str, int] = {}
    for resident, count in room_of(known, name).residents:
        app = dict(resident.labels).get("app", "")
        counts[app] = counts.get(app, 0) + count
    return counts


def test_a_resident_is_what_a_pod_means_to_others() -> None:
    terms = (APART, replace(APART, weight=1), replace(APART, anti=False))
    ports = (HostPort(80),)
    pod = replace(web("p"), namespace="shop", spec=spec(pod_affinity=terms, host_ports=ports))

    assert Residents().of(pod) == Resident(
        namespace="shop",
        labels=(("a", "1"), ("app", "web")),
        anti_affinity=(APART,),
        host_ports=ports,
    )


def test_alike_pods_are_one_object_wherever_they_are() -> None:
    known = model(*IN_USE, node("n2"), web("p1"), web("p2"), web("p3", "n2"))

    ((first, two),) = room_of(known).residents
    ((second, one),) = room_of(known, "n2").residents

    assert first is second
    assert (two, one) == (2, 1)


@pytest.mark.parametrize(
    "other",
    [
        replace(web("q"), namespace="other"),
        replace(web("q"), labels={"app": "web"}),
        replace(web("q"), spec=spec(host_ports=(HostPort(80),))),
        replace(web("q"), spec=spec(pod_affinity=(APART,))),
        replace(web("q"), deleting_since=START),
    ],
    ids=["namespace", "labels", "ports", "anti-affinity", "terminating"],
)
def test_what_others_can_tell_apart_is_apart(other: Pod) -> None:
    residents = Residents()

    assert residents.of(web("p")) != residents.of(other)
    assert [count for _, count in residents.count((web("p"), other))] == [1, 1]


def test_what_nobody_is_any_more_is_forgotten() -> None:
    residents = Residents()
    kept = residents.count((web("kept"),))
    existing_node = ExistingNode(name="n1", labels={}, taints=(), free=resources(), residents=kept)
    for number in range(10_000):
        residents.of(replace(web("p"), labels={"number": str(number)}))

    residents.sweep((existing_node, None))

    assert list(residents._known.values()) == [kept[0][0]]
    assert residents.of(web("p")) is kept[0][0]


# --- who is there


def test_pods_that_terminate_are_leaving() -> None:
    known = model(*IN_USE, replace(web("p1"), deleting_since=START))

    assert [(r.leaving, n) for r, n in room_of(known).residents] == [(True, 1)]


def test_pods_that_are_over_are_nowhere() -> None:
    known = model(*IN_USE, replace(web("p1"), phase=Phase.SUCCEEDED))

    assert there(known) == {}


def test_daemons_and_pods_of_the_node_itself_are_residents() -> None:
    own = replace(web("m1"), owners=(Owner(kind="Node", name="node-c1", uid="n"),))

    assert there(model(*IN_USE, own, replace(daemon("d1", "node-c1"), labels={"app": "logs"}))) == {
        "logs": 1,
        "web": 1,
    }


def test_pods_promised_a_place_are_residents_there() -> None:
    known = model(*IN_USE, replace(pending_pod("p1"), labels=WEB))
    promise(known, "p1", "c1")

    assert there(known) == {"web": 1}
    assert known.snapshot(START).pods == ()


def test_a_pod_that_is_relabelled_is_another_resident_where_it_was_promised_a_place() -> None:
    known = model(*IN_USE, replace(pending_pod("p1"), labels=WEB))
    promise(known, "p1", "c1")
    assert there(known) == {"web": 1}

    see(known, replace(pending_pod("p1", version=2), labels={"app": "api"}))

    assert there(known) == {"api": 1}


def test_a_place_kept_for_the_successor_of_a_pod_is_a_resident_like_that_pod() -> None:
    known = model(*IN_USE, claim("old", provider_id="aws:///a/i-old"), replace(pending_pod("p1"), labels=WEB))
    kept = replace(bound_pod("p2", "gone"), labels=WEB)
    see(known, kept)
    promise(known, "p2", "c1")
    known.promises._put(replace(known.promises.at("c1")[0], heir="web"))

    lose(known, Kind.POD, "p2")

    assert there(known) == {"web": 1}


# --- rooms that take no pods


def cordoned(known: ClusterModel) -> None:
    see(known, replace(IN_USE[1], resource_version=2, unschedulable=True))


def marked_for_disruption(known: ClusterModel) -> None:
    known.mark_for_disruption("c1")


@pytest.mark.parametrize("close", [cordoned, marked_for_disruption])
def test_a_node_that_takes_no_pods_is_a_closed_room(close: Callable[[ClusterModel], None]) -> None:
    known = model(*IN_USE)
    close(known)

    assert not room_of(known).open
    assert known.capacity.existing_node("c1") is None


def test_of_a_cordoned_node_it_is_known_what_would_be_free_and_of_one_that_goes_nothing_is() -> None:
    kept, going = model(*IN_USE), model(*IN_USE)
    cordoned(kept)
    marked_for_disruption(going)

    assert dict(room_of(kept).free) == {"cpu": 4000, "pods": 10}
    assert dict(room_of(going).free) == {}


def test_pods_of_a_cordoned_node_stay_residents() -> None:
    known = model(*IN_USE, web("p1"))
    cordoned(known)

    assert there(known) == {"web": 1}


def test_pods_to_be_placed_anew_are_nowhere_but_those_that_stay_to_the_end_are() -> None:
    protected = replace(web("p2"), labels={"app": "held"}, annotations={labels.DO_NOT_DISRUPT: "true"})
    logs = replace(daemon("d1", "node-c1"), labels={"app": "logs"})
    known = model(*IN_USE, web("p1"), protected, logs)
    marked_for_disruption(known)

    assert [p.uid for p in known.snapshot(START).pods] == ["p1"]
    assert there(known) == {"held": 1, "logs": 1}


def test_a_pod_promised_another_place_is_only_there() -> None:
    known = model(*IN_USE, node("n2", room=resources(cpu=4, pods=10)), web("p1"))
    marked_for_disruption(known)
    promise(known, "p1", "n2")

    assert there(known) == {}
    assert there(known, "n2") == {"web": 1}


def test_a_node_that_is_spared_has_its_residents_back() -> None:
    known = model(*IN_USE, web("p1"))
    marked_for_disruption(known)
    assert there(known) == {}

    known.unmark("c1")

    assert there(known) == {"web": 1}
    assert room_of(known).open


def test_a_claim_not_launched_yet_has_its_promised_pods_and_the_labels_that_are_certain() -> None:
    wanted = Requirements(
        (
            Requirement(labels.ZONE, frozenset({"a"})),
            Requirement(labels.ARCH, frozenset({"amd64", "arm64"})),
        )
    )
    planned = replace(claim("c2"), requirements=wanted, labels={"team": "blue"})
    known = model(planned, replace(pending_pod("p1"), labels=WEB))
    promise(known, "p1", "c2")

    existing_node = room_of(known, "c2")

    assert not existing_node.open
    assert existing_node.labels == {labels.ZONE: "a", "team": "blue"}
    assert there(known, "c2") == {"web": 1}


def test_a_claim_not_launched_that_nobody_is_promised_to_is_no_room() -> None:
    assert model(claim("c2")).snapshot(START).existing_nodes == ()


def test_a_node_has_its_name_among_the_labels_and_a_claim_without_node_has_none() -> None:
    known = model(*IN_USE, claim("c2", provider_id="aws:///a/i-2"))

    assert room_of(known).labels[labels.NODE_NAME] == view().node_name
    assert labels.NODE_NAME not in room_of(known, "c2").labels
