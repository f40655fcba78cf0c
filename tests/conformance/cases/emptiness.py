"""Nodes given back because they are empty or have lived their time, and budgets for that."""

from __future__ import annotations

from typing import Any, Final

from tests.conformance.case import Case, Given, Suite
from tests.conformance.instance_types import Size
from tests.conformance.objects import FREE, daemon_set, deployment, pool, stateful_set, term
from tests.conformance.stage import Setting
from tests.conformance.steps.changes import node_annotated, passes, scaled
from tests.conformance.steps.endings import ended, first_wave
from tests.conformance.steps.objects_told import condition, event
from tests.conformance.steps.placement import nodes, noted, other, running, same
from tests.scenarios.manifests import Manifest

REAL: Final = Setting(scheduler=True, types=(Size(name="default", pods=50),))

EMPTY: Final = Suite("controllers/disruption/emptiness_test.go", REAL)

EXPIRY: Final = Suite("controllers/nodeclaim/expiration/suite_test.go", REAL)

NEW: Final[dict[str, Any]] = {"labels_": {"rev": "two"}}


def apart(name: str, count: int, **more: Any) -> Manifest:
    """Return a Deployment whose pods get a node each."""
    return deployment(name, count, apart=[term(name)], **more)


def at_most(nodes_: str, *reasons: str, **more: Any) -> tuple[dict[str, Any], ...]:
    return ({"nodes": nodes_, **({"reasons": list(reasons)} if reasons else {}), **more},)


def emptied(count: int, **of_pool: Any) -> tuple[Given, ...]:
    """Return the steps that leave a pool with so many empty nodes."""
    made = pool(**{"after": "30s", "budgets": FREE, **of_pool})
    return made, apart("web", count), nodes(count), scaled("web", 0)


def drifts(**of_pool: Any) -> Manifest:
    """Return the pool as it is after a change that its nodes do not have."""
    return pool(**{"budgets": FREE, **of_pool, **NEW})


def calm(**of_pool: Any) -> Manifest:
    return pool(**{"budgets": FREE, **of_pool})


EMPTINESS: Final = (
    EMPTY.case(111, "a budget of all lets all empty nodes go", *emptied(10), passes("2m"), ended(empty=10)),
    EMPTY.case(
        153,
        "a budget of none lets no empty node go",
        *emptied(10, budgets=at_most("0%")),
        passes("10m"),
        nodes(10),
    ),
    EMPTY.case(
        194,
        "a budget of 30 % lets three of ten empty nodes go at once",
        *emptied(10, budgets=at_most("30%")),
        passes("2m"),
        first_wave(3),
    ),
    EMPTY.case(
        236,
        "a budget of half of three is two, for each pool",
        *(
            step
            for n in range(4)
            for step in (
                pool(f"pool-{n}", labels_={"of": str(n)}, after="30s", budgets=at_most("50%")),
                apart(f"web-{n}", 3, select={"of": str(n)}),
            )
        ),
        nodes(12),
        scaled("web-0", 0, "web-1", "web-2", "web-3"),
        passes("2m"),
        first_wave(8),
    ),
    EMPTY.case(
        302,
        "budgets of all let all empty nodes of all pools go",
        *(
            step
            for n in range(4)
            for step in (
                pool(f"pool-{n}", labels_={"of": str(n)}, after="30s", budgets=FREE),
                apart(f"web-{n}", 3, select={"of": str(n)}),
            )
        ),
        nodes(12),
        scaled("web-0", 0, "web-1", "web-2", "web-3"),
        passes("2m"),
        ended(empty=12),
    ),
    EMPTY.case(369, "an empty node goes", *emptied(1), passes("1m"), ended(empty=1), nodes(0)),
    EMPTY.case(
        385,
        "an empty node that has drifted goes as drifted",
        *emptied(1, after="Never"),
        drifts(after="Never"),
        passes("2m"),
        ended(drifted=1),
    ),
    EMPTY.case(
        405,
        "an empty node is not consolidatable before its time",
        *emptied(1, after="10m"),
        passes("5m"),
        condition("Consolidatable", None, on_="NodeClaim"),
        nodes(1),
    ),
    EMPTY.case(
        419,
        "an empty node is annotated not to be disrupted",
        pool(after="30s", budgets=FREE),
        apart("web", 1),
        node_annotated("web", "karpenter.sh/do-not-disrupt", "true"),
        scaled("web", 0),
        passes("10m"),
        nodes(1),
    ),
    EMPTY.case(
        433,
        "an annotation do-not-disrupt of false keeps no node",
        pool(after="30s", budgets=FREE),
        apart("web", 1),
        node_annotated("web", "karpenter.sh/do-not-disrupt", "false"),
        scaled("web", 0),
        passes("2m"),
        ended(empty=1),
    ),
    EMPTY.case(
        450,
        "a node with a pod is not empty",
        pool(after="30s", budgets=FREE),
        apart("web", 1),
        passes("10m"),
        nodes(1),
        ended(),
    ),
    EMPTY.case(479, "two empty nodes go", *emptied(2), passes("1m"), ended(empty=2), nodes(0)),
    EMPTY.case(
        557,
        "a node with a DaemonSet's pod alone is empty",
        daemon_set(),
        *emptied(1),
        passes("1m"),
        ended(empty=1),
    ),
    EMPTY.case(
        606,
        "a node with pods of a Deployment that end is empty",
        pool(after="0s", budgets=FREE),
        deployment("web", 3, grace=600),
        nodes(1),
        scaled("web", 0),
        passes("30s"),
        event("DisruptionTerminating", about="NodeClaim"),
        setting=Setting(scheduler=True, types=REAL.types, cluster={"stop": (500, 500)}),
    ),
    EMPTY.case(
        664,
        "a node with a pod of a StatefulSet that ends is not empty",
        pool(after="0s", budgets=FREE),
        stateful_set("web", 1, grace=600),
        nodes(1),
        scaled("web", 0, kind="StatefulSet"),
        passes("5m"),
        nodes(1),
        ended(),
        setting=Setting(scheduler=True, types=REAL.types, cluster={"stop": (500, 500)}),
    ),
    EMPTY.case(
        720,
        "an empty node goes when its time is over, and not before",
        *emptied(1, after="5m"),
        passes("4m"),
        nodes(1),
        passes("2m"),
        ended(empty=1),
    ),
)

EXPIRED: Final = (
    EXPIRY.case(
        185,
        "a node that has lived its time goes",
        pool(expire="10m", budgets=FREE),
        apart("web", 1),
        noted("web"),
        passes("9m"),
        same("web", "web"),
        passes("4m"),
        other("web", "web"),
        ended(expired=1),
    ),
    EXPIRY.case(
        189, "a node of a pool without expiry stays", calm(), apart("web", 1), passes("5h"), nodes(1), ended()
    ),
    EXPIRY.case(
        195,
        "a node that has not lived its time stays",
        pool(expire="200s"),
        apart("web", 1),
        passes("150s"),
        ended(),
        nodes(1),
    ),
    EXPIRY.case(
        106,
        "an expired node goes whatever budgets say",
        pool(expire="10m", budgets=at_most("0")),
        apart("web", 1),
        passes("15m"),
        ended(expired=1),
        running(1),
    ),
)


CASES: Final[tuple[Case, ...]] = (*EMPTINESS, *EXPIRED)
