from __future__ import annotations

from typing import Any

import pytest

from tests.fuzz.consolidation.blockers import DELETION_COST
from tests.fuzz.consolidation.clusters import Cluster
from tests.fuzz.consolidation.machines import KEEP
from tests.fuzz.consolidation.rules import Rule, Rules, placeless
from tests.fuzz.consolidation.small import (
    LARGE,
    MIDDLE,
    SMALL,
    B,
    budget,
    claim,
    cluster,
    machine,
    pod,
    pool,
    step,
)
from tests.fuzz.consolidation.steps import Step
from tests.fuzz.manifests import HOSTNAME, REQUIRED, ZONE, Manifest, need


def broken(of: Cluster, taken: Step) -> set[Rule]:
    return {one.rule for one in Rules(of).check(of, taken)}


def two(*others: Manifest, of: Manifest | None = None, **first: Any) -> Cluster:
    """Two nodes: web runs on the first, and there is room for it on the second."""
    machines = [machine("node-0", **first), machine("node-1")]
    return cluster(of or pool(), machines, pod("web-0", "node-0"), pod("db-0", "node-1"), *others)


DELETED = step("node-0", node_1=["web-0"])


def test_a_node_whose_pods_have_their_places_may_go() -> None:
    assert broken(two(), DELETED) == set()


@pytest.mark.parametrize(
    "held",
    [
        two(keep=True),
        two(managed=False),
        two(initialized=False),
        two(consolidatable=False),
        two(of=pool(consolidateAfter="Never")),
        two(of=pool(policy="WhenEmpty")),
        two(budget("web", 0)),
        two(budget("web", 1), budget("web", 1, "another")),
    ],
    ids=["annotated", "managed by none", "new", "disturbed", "never", "not empty", "budget", "two budgets"],
)
def test_a_node_that_something_keeps_may_not_go(held: Cluster) -> None:
    assert Rule.BLOCKED in broken(held, DELETED)


def test_a_pod_with_an_annotation_keeps_its_node() -> None:
    kept = cluster(
        pool(), [machine("node-0"), machine("node-1")], pod("web-0", "node-0", annotations={KEEP: "true"})
    )

    assert broken(kept, DELETED) == {Rule.BLOCKED}


def test_a_budget_that_allows_one_pod_keeps_no_node() -> None:
    assert broken(two(budget("web", 1), budget("db", 0, "other")), DELETED) == set()


def test_pods_without_a_place_are_found() -> None:
    assert broken(two(), step("node-0")) == {Rule.PLACE}


def test_pods_that_cost_nothing_to_evict_need_no_place() -> None:
    cheap = pod("web-0", "node-0", annotations={DELETION_COST: "-2147483647"})

    assert broken(cluster(pool(), [machine("node-0"), machine("node-1")], cheap), step("node-0")) == set()


def test_a_pod_of_a_node_that_stays_is_not_moved() -> None:
    assert Rule.PLACED in broken(two(), step("node-0", node_1=["web-0", "db-0"]))


def test_a_node_that_is_not_initialized_takes_no_pods_that_run() -> None:
    machines = [machine("node-0"), machine("node-1", initialized=False)]

    assert Rule.RECEIVER in broken(cluster(pool(), machines, pod("web-0", "node-0")), DELETED)


@pytest.mark.parametrize(
    "asked",
    [
        {"cpu": "3"},
        {"nodeSelector": {ZONE: B}},
        {"nodeSelector": {HOSTNAME: "node-0"}},
        {
            "affinity": {
                "podAntiAffinity": {
                    REQUIRED: [{"topologyKey": ZONE, "labelSelector": {"matchLabels": {"app": "db"}}}]
                }
            }
        },
    ],
    ids=["room", "zone", "node", "another pod"],
)
def test_a_place_that_a_pod_may_not_have_is_found(asked: dict[str, Any]) -> None:
    machines = [machine("node-0"), machine("node-1")]
    of = cluster(pool(), machines, pod("web-0", "node-0", **asked), pod("db-0", "node-1"))

    assert broken(of, DELETED) == {Rule.PLACEMENT}


def test_spread_is_counted_with_the_moved_pod_where_it_goes() -> None:
    rule = {
        "topologyKey": ZONE,
        "maxSkew": 1,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "web"}},
    }
    machines = [machine("node-0", zone=B), machine("node-1"), machine("node-2")]
    pods = [pod(f"web-{n}", f"node-{n}", topologySpreadConstraints=[rule]) for n in range(3)]
    of = cluster(pool(need(ZONE, "In", "test-zone-a", B)), machines, *pods)

    assert broken(of, step("node-0", node_1=["web-0"])) == {Rule.PLACEMENT}
    assert broken(of, step("node-2", node_0=["web-2"])) == set()


@pytest.mark.parametrize(("nodes", "over"), [("1", False), ("0", True), ("10%", False), ("0%", True)])
def test_budgets_of_pools_are_rounded_up(nodes: str, over: bool) -> None:  # noqa: FBT001
    found = broken(two(of=pool(budgets=[{"nodes": nodes}])), DELETED)

    assert (Rule.BUDGET in found) is over


def test_steps_of_one_plan_share_the_budget() -> None:
    of = cluster(pool(budgets=[{"nodes": "1"}]), [machine(f"node-{n}") for n in range(3)])
    rules = Rules(of)

    assert rules.check(of, step("node-0")) == []
    assert [one.rule for one in rules.check(of, step("node-1"))] == [Rule.BUDGET]


# --- what is bought


def test_a_cheaper_node_may_be_bought() -> None:
    assert broken(two(), step("node-0", claims=[claim("web-0")])) == set()


@pytest.mark.parametrize("types", [[MIDDLE], [SMALL, LARGE]], ids=["as dear", "perhaps dearer"])
def test_what_is_bought_costs_less_whatever_comes(types: list[str]) -> None:
    assert broken(two(), step("node-0", claims=[claim("web-0", of=types)])) == {Rule.PRICE}


def test_what_may_be_spot_or_on_demand_is_found() -> None:
    either = claim("web-0", bought=["spot", "on-demand"])

    assert broken(two(), step("node-0", claims=[either])) == {Rule.UNPINNED}


def test_spot_is_replaced_with_spot_only_where_the_gate_is_open() -> None:
    few = step("node-0", claims=[claim("web-0", bought=["spot"])])

    assert broken(_on_spot(gate=False), few) == {Rule.SPOT_TO_SPOT}


def test_one_spot_node_is_replaced_with_another_where_fifteen_types_would_do() -> None:
    able = [f"{family}-{cpus}x-amd64-linux" for family in "csm" for cpus in (2, 4, 8, 16, 32)]

    def bought(count: int) -> Step:
        return step("node-0", claims=[claim("web-0", of=able[:count], bought=["spot"])])

    assert broken(_on_spot(gate=True), bought(15)) == set()
    assert broken(_on_spot(gate=True), bought(14)) == {Rule.SPOT_TO_SPOT}


def _on_spot(*, gate: bool) -> Cluster:
    huge = machine("node-0", "m-128x-amd64-linux", bought="spot")
    return cluster(pool(), [huge], pod("web-0", "node-0"), spot_to_spot=gate)


def test_a_type_that_goes_is_not_bought_in_its_place() -> None:
    machines = [machine("node-0", SMALL), machine("node-1", LARGE)]
    of = cluster(pool(), machines, pod("web-0", "node-0", cpu="500m"), pod("db-0", "node-1", cpu="500m"))
    merged = step("node-0", "node-1", claims=[claim("web-0", "db-0", of=[SMALL])])

    assert broken(of, merged) == {Rule.SAME_TYPE}


# --- Balanced


def test_balanced_pools_want_half_of_the_average_saving_for_what_is_disturbed() -> None:
    machines = [machine("node-0", SMALL), machine("node-1", LARGE)]
    many = [pod(f"web-{n}", "node-0", cpu="100m") for n in range(9)]
    of = cluster(pool(policy="Balanced"), machines, *many)
    deleted = step("node-0", node_1=[f"web-{n}" for n in range(9)])

    assert broken(of, deleted) == {Rule.SCORE}
    assert broken(cluster(pool(), machines, *many), deleted) == set()


def test_balanced_pools_always_let_empty_nodes_go() -> None:
    machines = [machine("node-0", SMALL), machine("node-1", LARGE), machine("node-2", LARGE)]

    assert broken(cluster(pool(policy="Balanced"), machines), step("node-0")) == set()


@pytest.mark.parametrize(
    ("cpu", "names", "lost"),
    [
        ("1", ["web-0", "web-1"], []),
        ("3", ["web-0"], ["default/web-0"]),
        ("1800m", ["web-0", "web-1"], ["default/web-0", "default/web-1"]),
    ],
    ids=["both fit", "none fits", "only one fits"],
)
def test_pods_are_placeless_if_they_get_no_place_and_do_not_all_fit_on_nodes_that_are_left(
    cpu: str, names: list[str], lost: list[str]
) -> None:
    machines = [machine("node-0"), machine("node-1")]
    running = [pod(name, "node-0", cpu=cpu) for name in names]
    of = cluster(pool(), machines, *running, pod("db-0", "node-1"))

    assert placeless(of, step("node-0")) == lost
    assert placeless(of, step("node-0", claims=[claim(*names, of=[MIDDLE])])) == []


def test_no_pod_is_moved_to_a_node_whose_pods_changed_lately() -> None:
    machines = [machine("node-0"), machine("node-1", consolidatable=False)]
    of = cluster(pool(), machines, pod("web-0", "node-0"), pod("db-0", "node-1"))

    assert placeless(of, step("node-0")) == ["default/web-0"]
