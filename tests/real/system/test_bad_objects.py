from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

import pytest

from tests.real.parts.control_plane import ControlPlane
from tests.real.parts.kubectl import Kubectl
from tests.real.parts.objects import MERGE
from tests.real.system.bad_objects import BAD, Bad, Tree, class_, deployment, pool
from tests.real.system.cluster import PATHS, Cluster
from tests.real.system.controller import Controller, eventually
from tests.real.system.loose_definitions import loose_definitions

WHEN_EMPTY: Final = {"consolidationPolicy": "WhenEmpty", "consolidateAfter": "1s"}
GOOD: Final = (class_("default"), pool("good", weight=100, disruption=WHEN_EMPTY), deployment("web", 5))
# Seconds; what is written again and again is written more often than this.
QUIET: Final = 4
SHOWING: Final = (
    ("karpenter.sh/v1", "NodePool"),
    ("karpenter.sh/v1alpha5", "Provisioner"),
    ("karpenter.kwok.sh/v1alpha1", "KWOKNodeClass"),
)
# What each of these says, in one condition or another: pods are no matter of conditions.
COUNTED: Final = Counter(bad.counted for bad in BAD if bad.counted)


@dataclass
class UnhealthyNode:
    """A cluster with all bad objects in it and one good pool, and what was seen while they were bad."""

    cluster: Cluster
    controller: Controller
    kubectl: Kubectl
    described: dict[str, str] = field(default_factory=dict)
    events: dict[str, list[Tree]] = field(default_factory=dict)
    shown: dict[str, dict[str, Tree]] = field(default_factory=dict)
    columns: str = ""
    count: float = 0

    # --- the objects

    def at(self, tree: Tree) -> str:
        return f"{PATHS[tree['apiVersion'], tree['kind']]}/{tree['metadata']['name']}"

    def get(self, tree: Tree) -> Tree:
        status, answer = self.cluster.plane.request("GET", self.at(tree))
        assert status == 200, answer
        return dict(answer)

    def conditions(self, tree: Tree) -> dict[str, Tree]:
        return {c["type"]: c for c in self.get(tree).get("status", {}).get("conditions", ())}

    def status(self, tree: Tree) -> None:
        """Write the status of an object that others write."""
        if "status" in tree:
            body = {"status": tree["status"]}
            status, answer = self.cluster.plane.request("PATCH", f"{self.at(tree)}/status", body, MERGE)
            assert status == 200, answer

    def pods_of(self, app: str) -> list[Tree]:
        return [p for p in self.cluster.pods() if p["metadata"]["labels"].get("app") == app]

    def running(self, app: str) -> int:
        return sum(p["status"]["phase"] == "Running" for p in self.pods_of(app))

    # --- what is told of them

    def target(self, bad: Bad) -> tuple[str, str]:
        """Return the kind and name of what people look at."""
        if not bad.on_pod:
            return bad.kind, bad.called
        app = bad.wanted["metadata"]["name"] if bad.wanted is not None else bad.called
        pods = self.pods_of(app)
        return "Pod", pods[0]["metadata"]["name"] if pods else ""

    def warnings(self, bad: Bad) -> list[Tree]:
        kind, name = self.target(bad)
        _, answer = self.cluster.plane.request("GET", "/api/v1/events?fieldSelector=type=Warning")
        about = [e for e in answer["items"] if e["involvedObject"]["kind"] == kind]
        return [
            e
            for e in about
            if e["involvedObject"]["name"] == name and e["reportingComponent"] != "default-scheduler"
        ]

    def told(self, bad: Bad) -> bool:
        reason, part = bad.event
        events = [e for e in self.warnings(bad) if e["reason"] == reason]
        return any(part in e["message"] for e in events) and self.right(bad, bad.conditions)

    def right(self, bad: Bad, wanted: Any) -> bool:
        there = self.conditions(bad.wrong) if wanted else {}
        return all(
            kind in there
            and (there[kind]["status"], there[kind]["reason"]) == (status, reason)
            and there[kind]["message"].startswith(message)
            for kind, (status, reason, message) in wanted.items()
        )

    def look(self, bad: Bad) -> None:
        """Keep what is seen of an object now."""
        kind, name = self.target(bad)
        self.described[bad.name] = self.kubectl("describe", kind, name)
        self.events[bad.name] = self.warnings(bad)
        self.shown[bad.name] = self.conditions(bad.wrong)


@pytest.fixture(scope="module")
def ward(control_plane: ControlPlane, kubectl: Kubectl) -> Iterator[UnhealthyNode]:
    cluster = Cluster(control_plane)
    cluster.install()
    env = {"CLOUD": "kwok", "CLUSTER_NAME": "demo", "KUBECONFIG": str(control_plane.kubeconfig)}
    with loose_definitions(control_plane):
        cluster.apply(*(bad.wrong for bad in BAD if bad.loose))
    try:
        with Controller(env) as controller:
            there = UnhealthyNode(cluster, controller, kubectl)
            _fall_ill(there)
            yield there
    finally:
        cluster.clear()


def _fall_ill(ward: UnhealthyNode) -> None:
    cluster = ward.cluster
    cluster.apply(*(bad.beside for bad in BAD if bad.beside is not None))
    cluster.apply(*(bad.wrong for bad in BAD if not bad.loose), *GOOD)
    cluster.apply(*(bad.wanted for bad in BAD if bad.wanted is not None))
    for bad in BAD:
        ward.status(bad.wrong)
    eventually(lambda: ward.running("web") == 5, cluster.summary, within=120)
    for bad in BAD:
        eventually(lambda bad=bad: ward.told(bad), lambda bad=bad: _told(ward, bad), within=60)  # type: ignore[misc]
        ward.look(bad)
    ward.columns = ward.kubectl("get", "nodepools,kwoknodeclasses")
    ward.count = ward.controller.metric("treenail_objects_set_aside_total")


def _told(ward: UnhealthyNode, bad: Bad) -> str:
    warnings = [(e["reason"], e["message"]) for e in ward.warnings(bad)]
    return f"{bad.name}: {warnings}, {ward.conditions(bad.wrong)}\n{ward.controller.last_lines()}"


@pytest.mark.parametrize("bad", BAD, ids=lambda bad: bad.name)
def test_a_bad_object_says_what_is_wrong_with_it(ward: UnhealthyNode, bad: Bad) -> None:
    reason, part = bad.event

    assert reason in ward.described[bad.name]
    assert part in ward.described[bad.name]
    [event] = [e for e in ward.events[bad.name] if e["reason"] == reason]
    assert part in event["message"]
    if bad.said:
        lines = [line for line in ward.controller.said(bad.said) if bad.called in line["about"]]
        assert any(part in line["problem"] for line in lines)


def test_the_good_are_served_meanwhile(ward: UnhealthyNode) -> None:
    assert ward.controller.metric("treenail_provisioning_enabled") == 1
    assert "good" in ward.columns
    assert len(ward.pods_of("web")) == ward.running("web") == 5


def test_each_is_counted_once(ward: UnhealthyNode) -> None:
    assert ward.count == COUNTED.total()


def test_kubectl_shows_which_are_ready(ward: UnhealthyNode) -> None:
    rows = [line.split() for line in ward.columns.splitlines() if "/" in line]
    # Name, class, nodes, ready and age; a class has no more than its name, ready and age.
    ready = {row[0].rpartition("/")[2]: "True" in row for row in rows if "False" in row or "True" in row}

    assert ready["good"]
    assert ready["default"]
    bad = [b.called for b in BAD if b.kind in ("NodePool", "KWOKNodeClass") and b.conditions]
    assert [ready[name] for name in bad] == [False] * len(bad)


@pytest.fixture(scope="module")
def mended(ward: UnhealthyNode) -> UnhealthyNode:
    """Put everything right, and wait until it is used."""
    for bad in BAD:
        gone = bad.wrong if bad.made_anew else bad.beside
        if gone is not None:
            ward.cluster.delete(gone["apiVersion"], gone["kind"], gone["metadata"]["name"])
    ward.cluster.apply(*(bad.right for bad in BAD))
    for bad in BAD:
        ward.status(bad.right)
    return ward


@pytest.mark.parametrize("bad", BAD, ids=lambda bad: bad.name)
def test_an_object_that_was_put_right_says_so_and_is_used(mended: UnhealthyNode, bad: Bad) -> None:
    wanted = bad.wanted or (bad.wrong if bad.kind == "Deployment" else None)

    if wanted is not None:
        app = wanted["metadata"]["name"]
        eventually(lambda: mended.running(app) == 1, lambda: _told(mended, bad), within=120)
    if bad.conditions:
        eventually(lambda: _all_true(mended, bad), lambda: _told(mended, bad))
    if bad.said == "object set aside":
        eventually(lambda: _is_understood(mended, bad), lambda: _told(mended, bad))


def _all_true(ward: UnhealthyNode, bad: Bad) -> bool:
    conditions = ward.conditions(bad.wrong)
    return "Ready" in conditions and all(c["status"] == "True" for c in conditions.values())


def _is_understood(ward: UnhealthyNode, bad: Bad) -> bool:
    return any(bad.called in line["about"] for line in ward.controller.said("object set aside no longer"))


def test_writing_what_people_see_leads_to_no_other_writing(mended: UnhealthyNode) -> None:
    def versions() -> dict[str, str]:
        things = [thing for kind in SHOWING for thing in mended.cluster.all(*kind)]
        return {f"{t['kind']} {t['metadata']['name']}": t["metadata"]["resourceVersion"] for t in things}

    def written() -> list[str]:
        before = versions()
        time.sleep(QUIET)
        return sorted(name for name, version in versions().items() if before.get(name) != version)

    # Nodes that still come are counted in their pools; writing that led to writing would never end.
    eventually(
        lambda: not written(), lambda: f"{written()} is written\n{mended.controller.last_lines()}", within=90
    )
    shown = [bad for bad in BAD if bad.conditions]
    assert [bad.name for bad in shown if not _all_true(mended, bad)] == []


def test_a_claim_nobody_understands_keeps_its_node_over_a_restart_and_is_understood_again(
    mended: UnhealthyNode, request: pytest.FixtureRequest
) -> None:
    [node] = {pod["spec"]["nodeName"] for pod in mended.pods_of("web")}
    [claim] = [c for c in mended.cluster.claims() if c["status"].get("nodeName") == node]
    name, memory = claim["metadata"]["name"], claim["status"]["capacity"]["memory"]

    with loose_definitions(mended.cluster.plane):
        mended.status({**claim, "status": {"capacity": {"memory": "lots"}}})
    complaint = 'status.capacity.memory: "lots" is not a quantity'
    eventually(
        lambda: any(m.startswith(complaint) for _, m in mended.cluster.events(name)),
        mended.controller.last_lines,
    )
    mended.controller.stop()
    mended.controller.start()
    # Long enough for garbage to be collected twice.
    time.sleep(70 if request.config.getoption("--soak") else 3)
    assert mended.running("web") == 5
    assert node in {n["metadata"]["name"] for n in mended.cluster.nodes()}

    mended.status({**claim, "status": {"capacity": {"memory": memory}}})
    for app in ("web", *(bad.called for bad in BAD if bad.kind == "Deployment")):
        mended.cluster.scale(app, 0)
    eventually(
        lambda: (
            name not in {c["metadata"]["name"] for c in mended.cluster.claims()}
            and node not in {n["metadata"]["name"] for n in mended.cluster.nodes()}
        ),
        lambda: f"{mended.cluster.summary()}\n{mended.controller.last_lines()}",
        within=90,
    )
