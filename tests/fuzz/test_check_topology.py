from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from tests.fuzz.check.faults import Kind
from tests.fuzz.manifests import CAPACITY_TYPE, HOSTNAME, REQUIRED, ZONE, Manifest, need
from tests.fuzz.situations import (
    A,
    B,
    C,
    apart,
    claim,
    decision,
    kinds,
    machine,
    pool,
    running,
    spread,
    together,
    waiting,
)

ABC = need(ZONE, "In", A, B, C)
NAMES = "abcdefgh"


def alike(count: int, **spec: Any) -> list[Manifest]:
    return [waiting(name, **spec) for name in NAMES[:count]]


def in_zones(*zones: str) -> Any:
    """Each pod on a claim of its own."""
    return decision(*(claim(name, zone=zone) for name, zone in zip(NAMES, zones, strict=False)))


@pytest.mark.parametrize("zones", [(A,), (A, B, C), (A, B, C, A), (C, B, A, A, B)])
def test_pods_that_are_spread_evenly_may_be_so(zones: Sequence[str]) -> None:
    items = [pool("default", ABC), *alike(len(zones), topologySpreadConstraints=spread())]

    assert kinds(items, in_zones(*zones)) == set()


@pytest.mark.parametrize("zones", [(A, A), (A, B, A), (A, A, B, B)])
def test_spread_counts_zones_where_no_pod_is(zones: Sequence[str]) -> None:
    items = [pool("default", ABC), *alike(len(zones), topologySpreadConstraints=spread())]

    assert kinds(items, in_zones(*zones)) == {Kind.SPREAD}


def test_spread_counts_pods_that_are_there() -> None:
    there = [machine("node", A), running("there", "node")]
    items = [pool("default", ABC), *there, *alike(1, topologySpreadConstraints=spread())]

    assert kinds(items, in_zones(B)) == set()
    assert kinds(items, in_zones(A)) == {Kind.SPREAD}


def test_spread_does_not_count_pods_that_are_leaving() -> None:
    leaving = running("there", "node")
    leaving["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    items = [pool("default", ABC), machine("node", A), leaving]

    assert kinds([*items, *alike(1, topologySpreadConstraints=spread())], in_zones(A)) == set()


def test_spread_is_taken_over_the_zones_the_pod_may_be_in() -> None:
    pods = alike(2, topologySpreadConstraints=spread(), nodeSelector={ZONE: A})

    assert kinds([pool("default", ABC), *pods], in_zones(A, A)) == set()


def test_spread_holds_when_a_pod_is_placed_not_for_ever() -> None:
    """Others that count may come later: three of them are in A at last, and none in C."""
    items = [pool("default", ABC), *alike(1, topologySpreadConstraints=spread()), *map(waiting, "bcd")]

    assert kinds(items, in_zones(A, A, A, B)) == set()


def test_spread_is_broken_where_no_order_of_placing_would_have_kept_it() -> None:
    there = [machine("node", A), running("one", "node"), running("two", "node")]
    items = [pool("default", ABC), *there, *alike(4, topologySpreadConstraints=spread(skew=2))]

    assert kinds(items, in_zones(B, C, B, A)) == set()
    assert kinds(items, in_zones(B, B, B, A)) == {Kind.SPREAD}


def test_spread_over_nodes_starts_from_none() -> None:
    items = [pool(), *alike(3, cpu="500m", topologySpreadConstraints=spread(HOSTNAME, 2))]

    assert kinds(items, decision(claim("a", "b"), claim("c"))) == set()
    assert kinds(items, decision(claim("a", "b", "c"))) == {Kind.SPREAD}


def test_with_too_few_domains_for_min_domains_the_least_is_none() -> None:
    few = [pool("default", need(ZONE, "In", A, B)), *alike(3, topologySpreadConstraints=spread())]
    more = [few[0], *alike(3, topologySpreadConstraints=spread(minDomains=3))]

    assert kinds(few, in_zones(A, B, A)) == set()
    assert kinds(more, in_zones(A, B, A)) == {Kind.SPREAD}


def test_match_label_keys_tell_pods_apart() -> None:
    pods = alike(2, topologySpreadConstraints=spread(matchLabelKeys=["version"]))
    pods[0]["metadata"]["labels"]["version"] = "1"
    pods[1]["metadata"]["labels"]["version"] = "2"

    assert kinds([pool("default", ABC), *pods], in_zones(A, A)) == set()
    pods[1]["metadata"]["labels"]["version"] = "1"
    assert kinds([pool("default", ABC), *pods], in_zones(A, A)) == {Kind.SPREAD}


def test_pods_on_nodes_that_the_owner_does_not_select_count_only_if_asked() -> None:
    there = [machine("node", A, labels={"team": "y"}), running("there", "node")]
    for policy, expected in (("Honor", set()), ("Ignore", {Kind.SPREAD})):
        rule = spread(nodeAffinityPolicy=policy)
        pods = alike(1, topologySpreadConstraints=rule, nodeSelector={"team": "x"})
        items = [pool("default", ABC, labels={"team": "x"}), *there, *pods]
        assert kinds(items, in_zones(A)) == expected


def test_pods_on_nodes_with_taints_do_not_count_if_asked() -> None:
    taints = [{"key": "dedicated", "effect": "NoSchedule"}]
    there = [machine("node", A, taints=taints), running("there", "node")]
    for policy, expected in (("Honor", set()), ("Ignore", {Kind.SPREAD})):
        pods = alike(1, topologySpreadConstraints=spread(nodeTaintsPolicy=policy))
        assert kinds([pool("default", ABC), *there, *pods], in_zones(A)) == expected


def test_an_owner_of_spread_is_in_a_domain() -> None:
    items = [pool(), machine("node"), *alike(1, topologySpreadConstraints=spread("rack"))]

    assert kinds(items, decision(existing={"node": ["a"]})) == {Kind.SPREAD}


def test_spread_over_capacity_types_and_labels_of_pools() -> None:
    rack = need("rack", "In", "1", "2")
    for key, more in ((CAPACITY_TYPE, []), ("rack", [rack])):
        items = [pool("default", *more), machine("node", labels={CAPACITY_TYPE: "spot"})]
        items += alike(2, topologySpreadConstraints=spread(key))
        one = [need("rack", "In", "1")] if more else []
        same = decision(claim("a", requirements=one), claim("b", requirements=one))
        assert kinds(items, same) == {Kind.SPREAD}


def test_pods_that_want_each_other_are_in_one_domain() -> None:
    items = [pool(), *alike(2, affinity=together())]

    assert kinds(items, in_zones(A, A)) == set()
    assert kinds(items, in_zones(A, B)) == {Kind.AFFINITY}


def test_only_one_domain_can_have_had_the_first_pod() -> None:
    items = [pool(), *alike(4, affinity=together())]

    assert kinds(items, in_zones(A, A, A, A)) == set()
    assert kinds(items, in_zones(A, A, B, B)) == {Kind.AFFINITY}


def test_a_first_pod_needs_no_mate_where_none_is_that_it_could_join() -> None:
    there = [machine("node", A), running("there", "node")]
    for zones, expected in (((B, C), set()), ((A, B), {Kind.AFFINITY})):
        elsewhere = {"nodeSelectorTerms": [{"matchExpressions": [need(ZONE, "In", *zones)]}]}
        affinity = {"nodeAffinity": {REQUIRED: elsewhere}, **together()}
        assert kinds([pool(), *there, *alike(1, affinity=affinity)], in_zones(B)) == expected


def test_a_node_whose_zone_is_open_gives_company_to_its_own_pods_alone() -> None:
    items = [pool(), *alike(2, affinity=together())]

    assert kinds(items, decision(claim("a", "b"))) == set()
    assert kinds(items, decision(claim("a"), claim("b"))) == {Kind.AFFINITY}


def test_affinity_is_to_pods_that_are_there_and_selected() -> None:
    there = [machine("node", B), running("there", "node", "db")]
    items = [pool(), *there, *alike(1, affinity=together("db"))]

    assert kinds(items, in_zones(B)) == set()
    assert kinds(items, in_zones(A)) == {Kind.AFFINITY}
    assert kinds([pool(), *alike(1, affinity=together("db"))], in_zones(A)) == {Kind.AFFINITY}


def test_affinity_looks_only_into_its_namespaces() -> None:
    namespace = {"kind": "Namespace", "metadata": {"name": "blue", "labels": {"stage": "web"}}}
    there = [machine("node", B), running("there", "node", "db", namespace="blue"), namespace]
    for more, expected in (
        ({}, {Kind.AFFINITY}),
        ({"namespaces": ["blue"]}, set()),
        ({"namespaceSelector": {}}, set()),
        ({"namespaceSelector": {"matchLabels": {"stage": "web"}}}, set()),
        ({"namespaceSelector": {"matchLabels": {"stage": "data"}}}, {Kind.AFFINITY}),
    ):
        items = [pool(), *there, *alike(1, affinity=together("db", **more))]
        assert kinds(items, in_zones(B)) == expected


def test_pods_that_keep_apart_share_no_domain() -> None:
    items = [pool(), *alike(2, affinity=apart())]

    assert kinds(items, in_zones(A, B)) == set()
    assert kinds(items, in_zones(A, A)) == {Kind.ANTI_AFFINITY}


def test_pods_that_keep_apart_cannot_turn_out_in_one_domain() -> None:
    items = [pool(), *alike(2, affinity=apart())]

    assert kinds(items, decision(claim("a", zone=A), claim("b"))) == {Kind.ANTI_AFFINITY}


def test_anti_affinity_goes_both_ways() -> None:
    db = {"app": "db"}
    there = [machine("node", A), running("there", "node", "db", affinity=apart("web"))]
    assert kinds([pool(), *there, *alike(1)], in_zones(B)) == set()
    assert kinds([pool(), *there, *alike(1)], in_zones(A)) == {Kind.ANTI_AFFINITY}
    assert kinds([pool(), waiting("a"), waiting("b", **db, affinity=apart("web"))], in_zones(A, A)) == {
        Kind.ANTI_AFFINITY
    }


def test_pods_that_were_there_before_are_nobody_s_fault() -> None:
    there = [machine("node"), *(running(name, "node", affinity=apart()) for name in ("one", "two"))]

    assert kinds([pool(), *there, waiting("a", "db")], in_zones(A)) == set()
