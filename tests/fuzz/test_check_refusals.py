from __future__ import annotations

from typing import Any

import pytest

from tests.fuzz.check.faults import Kind
from tests.fuzz.check.preferences import GivenUp
from tests.fuzz.manifests import ARCH, CAPACITY_TYPE, OS, PREFERRED, ZONE, need, node_pool
from tests.fuzz.situations import (
    LARGE,
    SMALL,
    A,
    B,
    apart,
    claim,
    decision,
    kinds,
    machine,
    pool,
    running,
    spread,
    together,
    verdict,
    waiting,
)

REFUSED = {Kind.REFUSED}
ALL_REFUSED = decision(refused=["a"])


def test_a_pod_is_not_refused_that_a_new_node_would_hold() -> None:
    assert kinds([pool(), waiting("a")], ALL_REFUSED) == REFUSED


def test_a_pod_is_not_refused_that_fits_onto_a_node_that_is_there() -> None:
    items = [pool(limits={"cpu": "0"}), machine("node"), waiting("a")]

    assert kinds(items, ALL_REFUSED) == REFUSED


def test_a_pod_is_not_refused_that_fits_onto_a_claim() -> None:
    items = [pool(limits={"cpu": "4"}), waiting("a"), waiting("b")]

    assert kinds(items, decision(claim("b"), refused=["a"])) == REFUSED


@pytest.mark.parametrize(
    ("items", "spec"),
    [
        ([], {}),
        ([pool()], {"cpu": "300"}),
        ([pool()], {"nodeSelector": {"team": "x"}}),
        ([pool(taints=[{"key": "dedicated", "effect": "NoSchedule"}])], {}),
        ([pool(limits={"cpu": "0"})], {}),
        ([pool(limits={"nodes": "0"})], {}),
        ([pool("default", {**need(ZONE, "In", A), "minValues": 5})], {}),
        ([pool()], {"affinity": together("db")}),
        ([pool("default", need(ZONE, "In", A)), machine("n"), running("r", "n", "db", cpu="4")],
         {"affinity": apart("db")}),
        ([pool("default", need(ZONE, "In", A)), machine("n", B), machine("m"), running("r", "m", cpu="4")],
         {"topologySpreadConstraints": spread(), "cpu": "5"}),
    ],
    ids=["no pool", "too large", "label", "taint", "limit", "limit of nodes", "minValues", "affinity",
         "anti-affinity", "spread"],
)  # fmt: skip
def test_a_pod_may_be_refused_with_cause(items: Any, spec: Any) -> None:
    assert kinds([*items, waiting("a", **spec)], ALL_REFUSED) == set()


def test_a_claim_counts_with_its_largest_type_against_what_is_left() -> None:
    items = [pool(limits={"cpu": "18"}), waiting("a", cpu="3"), waiting("b", cpu="3500m")]

    assert kinds(items, decision(claim("b", types=[SMALL]), refused=["a"])) == REFUSED
    assert kinds(items, decision(claim("b", types=[LARGE]), refused=["a"])) == REFUSED
    full = [items[0], items[1], waiting("b", cpu="15")]
    assert kinds(full, decision(claim("b", types=[LARGE]), refused=["a"])) == set()


def test_who_is_on_a_claim_counts_once_the_pod_would_settle_what_it_is() -> None:
    lines = [need(OS, "In", "linux"), need(CAPACITY_TYPE, "In", "on-demand")]
    either = node_pool("default", lines, {}, limits={"nodes": "1"})
    there = claim("b", types=[LARGE, LARGE.replace("amd64", "arm64")], zone=A)
    for skew, expected in ((1, set()), (2, REFUSED)):
        asking = waiting("a", nodeSelector={ARCH: "arm64"}, topologySpreadConstraints=spread(skew=skew))
        assert kinds([either, asking, waiting("b")], decision(there, refused=["a"])) == expected


def test_going_over_a_limit_with_the_largest_types_is_told_and_no_fault() -> None:
    items = [pool(limits={"cpu": "18"}), waiting("a", cpu="3"), waiting("b", cpu="3")]
    found = verdict(items, decision(claim("a", types=[SMALL, LARGE]), claim("b", types=[SMALL, LARGE])))

    assert found.faults == ()
    assert found.over_with_largest == ("default",)


def in_zone(zone: str, key: str = ZONE) -> Any:
    wish = {"weight": 1, "preference": {"matchExpressions": [need(key, "In", zone)]}}
    return {"nodeAffinity": {PREFERRED: [wish]}}


def given_up(items: Any, decided: Any) -> tuple[GivenUp, ...]:
    found = verdict(items, decided)
    assert found.faults == ()
    return found.given_up


def test_a_preference_that_a_new_node_would_have_kept_was_given_up_needlessly() -> None:
    items = [pool(), waiting("a", affinity=in_zone(A))]

    assert given_up(items, decision(claim("a", zone=A))) == ()
    assert given_up(items, decision(claim("a", zone=B))) == (
        GivenUp("default/a", "node affinity", needless=True),
    )


def test_a_preference_that_nothing_could_keep_was_given_up_with_cause() -> None:
    items = [pool(), waiting("a", affinity=in_zone("nowhere"))]

    assert given_up(items, decision(claim("a"))) == (GivenUp("default/a", "node affinity", needless=False),)


def test_soft_rules_between_pods_and_soft_taints_are_preferences_too() -> None:
    there = [machine("node"), running("there", "node", "db")]
    soft = {"weight": 1, "podAffinityTerm": apart("db")["podAntiAffinity"].popitem()[1][0]}
    keep_apart = {"podAntiAffinity": {PREFERRED: [soft]}}
    loose = spread(app="db", skew=0, whenUnsatisfiable="ScheduleAnyway")
    taint = {"key": "crowded", "effect": "PreferNoSchedule"}
    for spec, more in (
        ({"affinity": keep_apart}, []),
        ({"topologySpreadConstraints": loose}, []),
        ({}, [pool("soft", taints=[taint])]),
    ):
        items = [pool(), *more, *there, waiting("a", **spec)]
        decided = decision(claim("a", of="soft" if more else "default", zone=A))
        assert [one.needless for one in given_up(items, decided)] == [True]
