"""Nodes that are not what their pool would make today: found, and replaced one after the other."""

from __future__ import annotations

from typing import Any, Final

from tests.conformance.case import Case, Given, Suite
from tests.conformance.instance_types import Size
from tests.conformance.objects import FREE, budget, daemon_set, deployment, pod, pool, term
from tests.conformance.stage import Setting
from tests.conformance.steps.changes import node_annotated, passes, removed, scaled
from tests.conformance.steps.endings import ended, first_wave
from tests.conformance.steps.objects_told import condition, event
from tests.conformance.steps.placement import nodes, noted, on, other, running
from tests.scenarios.manifests import Manifest

REAL: Final = Setting(scheduler=True, types=(Size(name="default", pods=50),))

DRIFT: Final = Suite("controllers/disruption/drift_test.go", REAL)

DISRUPTION: Final = Suite("controllers/disruption/suite_test.go", REAL)

DETECTION: Final = Suite("controllers/nodeclaim/disruption/drift_test.go", REAL)

KEEP: Final = {"karpenter.sh/do-not-disrupt": "true"}

NEW: Final[dict[str, Any]] = {"labels_": {"rev": "two"}}

DRIFTED: Final = "Drifted"


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


DRIFTING: Final = (
    DRIFT.case(
        121,
        "a budget of 30 % lets three of ten drifted nodes go at once",
        calm(budgets=at_most("30%")),
        apart("web", 10),
        nodes(10),
        scaled("web", 0),
        drifts(budgets=at_most("30%")),
        passes("2m"),
        first_wave(3),
    ),
    DRIFT.case(
        345,
        "a drifted node whose pods have no other place stays, and the next one is replaced",
        calm(),
        deployment("web", 1, requests={"cpu": "3"}),
        deployment("held", 1, requests={"cpu": "3"}, need=["rev DoesNotExist"]),
        drifts(),
        passes("5m"),
        ended(drifted=1),
        nodes(2),
        running(2),
    ),
    DRIFT.case(
        404, "a node that has not drifted stays", calm(), apart("web", 1), passes("10m"), ended(), nodes(1)
    ),
    DRIFT.case(
        428,
        "a drifted node is annotated not to be disrupted",
        calm(),
        apart("web", 1),
        node_annotated("web", "karpenter.sh/do-not-disrupt", "true"),
        drifts(),
        passes("10m"),
        condition(DRIFTED, "True", "NodePoolDrifted", on_="NodeClaim"),
        ended(),
    ),
    DRIFT.case(
        442,
        "an annotation do-not-disrupt of false keeps no drifted node",
        calm(),
        apart("web", 1),
        node_annotated("web", "karpenter.sh/do-not-disrupt", "false"),
        drifts(),
        passes("10m"),
        ended(drifted=1),
        running(1),
    ),
    DRIFT.case(
        500,
        "a pod is annotated not to be disrupted",
        calm(),
        apart("web", 1, annotations=KEEP),
        drifts(),
        passes("10m"),
        ended(),
        nodes(1),
    ),
    DRIFT.case(
        521,
        "a pod is annotated not to be disrupted, and its node has a grace period",
        calm(grace="5m"),
        apart("web", 1, annotations=KEEP),
        drifts(grace="5m"),
        passes("15m"),
        ended(drifted=1),
        running(1),
    ),
    DRIFT.case(
        543,
        "a budget keeps a pod, and its node has a grace period",
        calm(grace="5m"),
        budget("web", "web", maxUnavailable=0),
        apart("web", 1),
        drifts(grace="5m"),
        passes("15m"),
        ended(drifted=1),
        running(1),
    ),
    DRIFT.case(
        569,
        "a pod is annotated not to be disrupted for ten minutes",
        calm(),
        apart("web", 1, annotations={"karpenter.sh/do-not-disrupt": "10m"}),
        drifts(),
        passes("8m"),
        ended(),
        passes("8m"),
        ended(drifted=1),
    ),
    DRIFT.case(
        599,
        "an annotation do-not-disrupt that says nothing keeps no node",
        calm(),
        apart("web", 1, annotations={"karpenter.sh/do-not-disrupt": "invalid-format"}),
        drifts(),
        passes("5m"),
        ended(drifted=1),
        event("InvalidDoNotDisruptAnnotation"),
    ),
    DRIFT.case(
        656,
        "of two pods on a node the one that may stay longer counts",
        calm(),
        deployment("short", annotations={"karpenter.sh/do-not-disrupt": "2m"}),
        deployment("long", annotations={"karpenter.sh/do-not-disrupt": "20m"}),
        nodes(1),
        drifts(),
        passes("15m"),
        ended(),
        passes("15m"),
        ended(drifted=1),
    ),
    DRIFT.case(
        703,
        "a drifted node is replaced",
        calm(),
        apart("web", 1),
        noted("web"),
        drifts(),
        passes("5m"),
        other("web", "web"),
        on("web", rev="two"),
        ended(drifted=1),
        nodes(1),
    ),
    DRIFT.case(
        752,
        "a drifted node goes without replacement where another one has room",
        calm(),
        deployment("web"),
        nodes(1),
        pool("other", budgets=FREE, labels_={"of": "other"}),
        deployment("roomy", select={"of": "other"}),
        nodes(2),
        drifts(),
        passes("5m"),
        ended(drifted=1),
        on("web", pool="other"),
        nodes(1),
        running(2),
    ),
    DRIFT.case(
        809,
        "an empty drifted node goes where consolidation is off",
        *emptied(1, after="Never"),
        drifts(after="Never"),
        passes("2m"),
        ended(drifted=1),
        nodes(0),
    ),
    DRIFT.case(
        920,
        "where no replacement can be bought the drifted node is open again",
        calm(limits={"nodes": "1"}),
        apart("web", 1),
        drifts(limits={"nodes": "1"}),
        passes("10m"),
        nodes(1),
        on("web", {"rev": None}),
        running(1),
        ended(),
    ),
    DRIFT.case(
        968,
        "a drifted node is replaced by several",
        calm(),
        pod("filler", requests={"cpu": "2"}),
        deployment("web", 3, requests={"cpu": "500m"}),
        nodes(1),
        removed("filler"),
        pool("default", "type In tiny", budgets=FREE),
        passes("5m"),
        nodes(3),
        running(3),
        on("web", type="tiny"),
        setting=Setting(scheduler=True, types=(Size(name="default"), Size(name="tiny", cpu=1, gib=1))),
    ),
    DRIFT.case(
        1052,
        "drifted nodes with pods go one after the other under a budget of one",
        calm(budgets=at_most("1")),
        apart("web", 3),
        drifts(budgets=at_most("1")),
        passes("1m"),
        first_wave(1),
        passes("10m"),
        ended(drifted=3),
        running(3),
    ),
)


def held(line: int, what: str, *given: Given, **of_pool: Any) -> Case:
    """Return a case in which a drifted node stays."""
    return DISRUPTION.case(line, what, calm(**of_pool), *given, drifts(**of_pool), passes("10m"), ended())


def goes(line: int, what: str, *given: Given, **of_pool: Any) -> Case:
    """Return a case in which a drifted node goes."""
    return DISRUPTION.case(
        line, what, calm(**of_pool), *given, drifts(**of_pool), passes("15m"), ended(drifted=1)
    )


BLOCKED: Final = (
    held(929, "a pod is annotated not to be disrupted", apart("web", 1, annotations=KEEP)),
    held(
        995,
        "a DaemonSet's pod is annotated not to be disrupted",
        daemon_set("kept", annotations=KEEP),
        apart("web", 1),
    ),
    goes(
        1034,
        "a pod is annotated, and the node has a grace period",
        apart("web", 1, annotations=KEEP),
        grace="5m",
    ),
    goes(
        1063,
        "a budget keeps a pod, and the node has a grace period",
        budget("web", "web", maxUnavailable=0),
        apart("web", 1),
        grace="5m",
    ),
    DISRUPTION.case(
        1291,
        "a node is annotated not to be disrupted",
        calm(),
        apart("web", 1),
        node_annotated("web", "karpenter.sh/do-not-disrupt", "true"),
        drifts(),
        passes("10m"),
        ended(),
        event("DisruptionBlocked", "do-not-disrupt"),
    ),
    held(
        1314,
        "two budgets are for one pod",
        budget("one", "web", maxUnavailable=1),
        budget("two", "web", maxUnavailable=1),
        apart("web", 1),
    ),
    held(1364, "a budget keeps all pods", budget("web", "web", maxUnavailable=0), apart("web", 1)),
    held(
        1400,
        "a budget keeps a DaemonSet's pods",
        daemon_set("kept"),
        budget("kept", "kept", maxUnavailable=0),
        apart("web", 1),
    ),
    held(1493, "a pod is annotated, and the node has no grace period", apart("web", 1, annotations=KEEP)),
    held(
        1524,
        "a budget keeps a pod, and the node has no grace period",
        budget("web", "web", minAvailable="100%"),
        apart("web", 1),
    ),
)


def found(line: int, what: str, **change: Any) -> Case:
    """Return a case in which a change of a pool makes its nodes drift."""
    return DETECTION.case(
        line,
        f"a change of {what}",
        pool(),
        apart("web", 1),
        condition(DRIFTED, None, on_="NodeClaim"),
        pool(**change),
        passes("1m"),
        condition(DRIFTED, "True", "NodePoolDrifted", on_="NodeClaim"),
    )


def of_needs(line: int, what: str, before: tuple[str, ...], after: tuple[str, ...], *, drift: bool) -> Case:
    """Return a case in which the requirements of a pool change."""
    return DETECTION.case(
        line,
        what,
        pool("default", *before),
        apart("web", 1),
        pool("default", *after),
        passes("1m"),
        condition(
            DRIFTED, "True" if drift else None, "RequirementsDrifted" if drift else "", on_="NodeClaim"
        ),
    )


DETECTED: Final = (
    found(474, "annotations", annotations={"example.com/key": "value"}),
    found(475, "labels", labels_={"key": "value"}),
    found(476, "taints", taint=["key:NoExecute"]),
    found(477, "startup taints", startup=["key:NoExecute"]),
    found(479, "the time that nodes live", expire="100m"),
    found(480, "the grace period", grace="100m"),
    of_needs(228, "the same requirements", ("way In spot",), ("way In spot",), drift=False),
    of_needs(
        244, "one more value of a requirement", ("way In on-demand",), ("way In on-demand spot",), drift=False
    ),
    of_needs(261, "another value of a requirement", ("way In spot",), ("way In on-demand",), drift=True),
    of_needs(
        277,
        "one value less of a requirement",
        ("way In spot on-demand", "arch In amd64"),
        ("way In spot on-demand", "arch In arm64"),
        drift=True,
    ),
    of_needs(293, "a label must not be there that the node has not", (), ("key DoesNotExist",), drift=False),
    of_needs(309, "a label must be there that the node has not", (), ("key Exists",), drift=True),
    of_needs(325, "a number below a bound", ("cpus Lt 8",), ("cpus Lt 16",), drift=False),
    of_needs(341, "a number beyond a bound", ("cpus Lt 8",), ("cpus Lt 2",), drift=True),
    DETECTION.case(
        198,
        "a node is as its pool would make it again",
        pool(),
        apart("web", 1),
        pool(labels_={"key": "value"}),
        passes("1m"),
        condition(DRIFTED, "True", on_="NodeClaim"),
        pool(),
        passes("1m"),
        condition(DRIFTED, None, on_="NodeClaim"),
    ),
)


CASES: Final[tuple[Case, ...]] = (*DRIFTING, *BLOCKED, *DETECTED)
