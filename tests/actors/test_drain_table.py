"""What becomes of the pods of a node that goes, case by case, at an API server with budgets and kubelets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, Final

import pytest

from tests.actors.ending import Ending
from tests.builders import spec
from treenail.adapters.fake.cluster import ClusterSettings
from treenail.domain.cluster.cluster_facts import DaemonSet
from treenail.domain.model import labels
from treenail.domain.model.causes import Cause
from treenail.domain.model.pod_budgets import PodDisruptionBudget, Portion
from treenail.domain.model.pods import LabelSelector, Owner, Phase, PodVolume
from treenail.domain.model.storage import PersistentVolume, PersistentVolumeClaim
from treenail.domain.model.taints import Toleration, TolerationOperator

# A step is due at its second, or within so many more.
_WITHIN: Final = 4.0
_FOR_EVER: Final = 3600.0
_TOLD: Final = ("evict_pod", "delete_pod", "terminate")

WEB: Final = {"labels": {"app": "web"}}
SAFE: Final = {"annotations": {labels.DO_NOT_DISRUPT: "true"}}
OF_OLD: Final = {"annotations": {labels.DO_NOT_EVICT: "true"}}
DAEMON: Final = {"daemon": True}
STATIC: Final = {"owners": (Owner(kind="Node", name="", uid=""),)}
SPOT: Final = Cause.SPOT_INTERRUPTED


def of(base: Mapping[str, Any] | None = None, **fields: Any) -> dict[str, Any]:
    """Return a pod with such a spec."""
    return {**(base or {}), "spec": replace(spec(), **fields)}


CRITICAL: Final = of(priority_class="system-cluster-critical")
CRITICAL_DAEMON: Final = of(DAEMON, priority_class="system-node-critical")
TOLERANT: Final = of(tolerations=(Toleration(operator=TolerationOperator.EXISTS),))


DATA: Final = (PodVolume(name="data", claim_name="data"),)
TOLERANT_WITH_DATA: Final = of(tolerations=TOLERANT["spec"].tolerations, volumes=DATA)
_DETACH: Final = 20.0


@dataclass(frozen=True, kw_only=True)
class Case:
    """Pods by name, how their node begins to go, and what they get: calls by the second they are due.

    `by` is the kind of object that a user deletes, or the cause of a notice, which EC2 gives
    `notice` seconds before the end. At `gone` seconds nothing is left; None where something is for an hour.
    """

    pods: Mapping[str, Mapping[str, Any]]
    by: str | Cause = "NodeClaim"
    notice: float | None = 120
    grace_period: float | None = None
    allowed: int | None = None
    stubborn: bool = False
    forced: bool = True
    ready: float | None = None
    calls: tuple[tuple[float, str], ...] = ()
    gone: float | None = 30


CASES: Final = {
    # whoever deletes what
    "kubectl delete nodeclaim": Case(pods={"p": {}}, calls=((0, "evict_pod p"),)),
    "kubectl delete node": Case(pods={"p": {}}, by="Node", calls=((0, "evict_pod p"),)),
    "a node without pods": Case(pods={}),
    # order
    "plain pods, daemons, critical pods, critical daemons": Case(
        pods={"cd": CRITICAL_DAEMON, "c": CRITICAL, "d": DAEMON, "p": {}},
        calls=((0, "evict_pod p"), (2, "evict_pod d"), (4, "evict_pod c"), (6, "evict_pod cd")),
        gone=40,
    ),
    "critical pods wait for one that stops slowly": Case(
        pods={"c": CRITICAL, "p": {}},
        stubborn=True,
        calls=((0, "evict_pod p"), (30, "evict_pod c")),
        gone=90,
    ),
    # who is not waited for
    "a static pod is let alone": Case(pods={"s": STATIC}),
    "a daemon that tolerates the taint is let alone": Case(pods={"d": {**TOLERANT, **DAEMON}}),
    "any pod that tolerates it is let alone": Case(pods={"t": TOLERANT}),
    "a pod that is over is let alone": Case(pods={"done": {"phase": Phase.SUCCEEDED}}),
    "a pod that failed is let alone": Case(pods={"bad": {"phase": Phase.FAILED}}),
    # SIGTERM
    "a pod that ignores SIGTERM is waited for until it is killed": Case(
        pods={"p": of(grace_seconds=60)}, stubborn=True, calls=((0, "evict_pod p"),), gone=90
    ),
    "a pod without a grace period goes at once": Case(
        pods={"p": of(grace_seconds=0)}, stubborn=True, calls=((0, "evict_pod p"),)
    ),
    # budgets
    "a budget that allows it": Case(pods={"p": WEB}, allowed=1, calls=((0, "evict_pod p"),)),
    "a budget that allows none holds for ever": Case(pods={"p": WEB}, allowed=0, gone=None),
    "a budget of others holds nobody": Case(pods={"p": {}}, allowed=0, calls=((0, "evict_pod p"),)),
    # do not disrupt
    "do-not-disrupt holds for ever": Case(pods={"p": SAFE}, gone=None),
    "so does do-not-evict of the old API": Case(pods={"p": OF_OLD}, gone=None),
    "with another value it does not": Case(
        pods={"p": {"annotations": {labels.DO_NOT_DISRUPT: "false"}}}, calls=((0, "evict_pod p"),)
    ),
    "for a time it holds so long from the start of the pod on": Case(
        pods={"p": {"annotations": {labels.DO_NOT_DISRUPT: "5m"}}}, calls=((297, "evict_pod p"),), gone=340
    ),
    "a protected pod does not hold up others of its turn": Case(
        pods={"p": SAFE, "q": {}}, calls=((0, "evict_pod q"),), gone=None
    ),
    "nor does one stop those whose turn is later from staying": Case(
        pods={"p": SAFE, "c": CRITICAL}, gone=None
    ),
    # terminationGracePeriod
    "a grace period of the claim ends what do-not-disrupt holds": Case(
        pods={"p": SAFE}, grace_period=100, calls=((70, "delete_pod p 30"),), gone=130
    ),
    "and what a budget holds": Case(
        pods={"p": WEB}, allowed=0, grace_period=100, calls=((70, "delete_pod p 30"),), gone=130
    ),
    "each pod in time for its own grace period": Case(
        pods={"p": {**SAFE, **of(grace_seconds=60)}, "q": {**SAFE, **of(grace_seconds=10)}},
        grace_period=100,
        calls=((40, "delete_pod p 60"), (90, "delete_pod q 10")),
        gone=130,
    ),
    "of any turn": Case(
        pods={"p": SAFE, "c": CRITICAL},
        grace_period=100,
        calls=((70, "delete_pod c 30"), (70, "delete_pod p 30")),
        gone=130,
    ),
    "one shorter than the pod's leaves it what there is": Case(
        pods={"p": of(grace_seconds=600)}, grace_period=50, calls=((0, "delete_pod p 50"),), gone=90
    ),
    "a grace period of nothing deletes at once": Case(
        pods={"p": SAFE}, grace_period=0, calls=((0, "delete_pod p 1"),)
    ),
    "a pod that stops already and was given longer is told to hurry": Case(
        pods={"p": of({"stopping": True}, grace_seconds=1200)},
        grace_period=100,
        stubborn=True,
        calls=((0, "delete_pod p 100"),),
        gone=140,
    ),
    "kubectl delete node keeps to it too": Case(
        pods={"p": SAFE}, by="Node", grace_period=100, calls=((70, "delete_pod p 30"),), gone=130
    ),
    # volumes
    "volumes are given back before the machine goes": Case(
        pods={"p": of(volumes=DATA)},
        calls=((0, "evict_pod p"), (_DETACH + 3, "terminate i-c1")),
        gone=60,
    ),
    "a claim's grace period ends the wait for them": Case(
        pods={"p": of(volumes=DATA)},
        grace_period=10,
        calls=((0, "delete_pod p 10"), (10, "terminate i-c1")),
        gone=60,
    ),
    "a pod that stays keeps its own": Case(
        pods={"p": {}, "t": TOLERANT_WITH_DATA},
        calls=((0, "evict_pod p"), (5, "terminate i-c1")),
        gone=30,
    ),
    # notices
    "pods of an interrupted instance leave when their place is ready": Case(
        pods={"p": {}}, by=SPOT, ready=40, calls=((40, "evict_pod p"),), gone=70
    ),
    "or are deleted at the last call": Case(
        pods={"p": {}}, by=SPOT, calls=((80, "delete_pod p 30"),), gone=130
    ),
    "which the longest grace period decides": Case(
        pods={"p": {}, "q": of(grace_seconds=60)},
        by=SPOT,
        calls=((50, "delete_pod p 30"), (50, "delete_pod q 60")),
        gone=130,
    ),
    "unless that is longer than the notice": Case(
        pods={"p": {}, "q": of(grace_seconds=600)},
        by=SPOT,
        calls=((0, "delete_pod q 120"), (80, "delete_pod p 30")),
        gone=130,
    ),
    "a budget holds until the last call": Case(
        pods={"p": WEB}, allowed=0, by=SPOT, calls=((80, "delete_pod p 30"),), gone=130
    ),
    "so does do-not-disrupt": Case(pods={"p": SAFE}, by=SPOT, calls=((80, "delete_pod p 30"),), gone=130),
    "after it too where the user chose so": Case(pods={"p": SAFE}, by=SPOT, forced=False, gone=None),
    "critical pods are deleted after others where time allows": Case(
        pods={"p": of(grace_seconds=60), "c": of(CRITICAL, priority_class="system-node-critical")},
        by=SPOT,
        calls=((50, "delete_pod p 60"), (80, "delete_pod c 30")),
        stubborn=True,
        gone=150,
    ),
    "daemons wait for the pods beside them": Case(
        pods={"d": DAEMON, "p": {}},
        by=SPOT,
        ready=40,
        calls=((40, "evict_pod p"), (40, "evict_pod d")),
        gone=80,
    ),
    "an instance that stops is drained at once": Case(
        pods={"p": {}}, by=Cause.INSTANCE_STOPPED, notice=None, calls=((0, "evict_pod p"),)
    ),
    "one that has stopped is not drained but emptied": Case(
        pods={"p": SAFE}, by=Cause.INSTANCE_STOPPED, notice=0, calls=((0, "delete_pod p 1"),)
    ),
    "a scheduled change waits for ready places without an end": Case(
        pods={"p": {}},
        by=Cause.SCHEDULED_CHANGE,
        notice=None,
        ready=300,
        calls=((297, "evict_pod p"),),
        gone=340,
    ),
}


def _begin(stage: Ending, case: Case) -> None:
    match case.by:
        case Cause():
            stage.interrupt(seconds=case.notice, cause=case.by, decided=False)
        case str():
            stage.api.delete(case.by, "c1" if case.by == "NodeClaim" else "node-c1")


def _staged(case: Case) -> Ending:
    stop = (1e6, 1e6) if case.stubborn else (0.2, 2.0)
    settings = ClusterSettings(stop=stop, detach=(_DETACH, _DETACH))
    grace = None if case.grace_period is None else timedelta(seconds=case.grace_period)
    stage = Ending(forced=case.forced, settings=settings, termination_grace_period=grace)
    if case.allowed is not None:
        web = LabelSelector(match_labels=(("app", "web"),))
        stage.api.apply(PodDisruptionBudget(name="web", selector=web, max_unavailable=Portion(case.allowed)))
    stage.api.apply(
        PersistentVolume(name="pv-data", driver="ebs.csi.aws.com", handle="vol-1"),
        PersistentVolumeClaim(name="data", volume_name="pv-data", bound=True),
    )
    for name, fields in case.pods.items():
        if "daemon" in fields:
            stage.api.apply(DaemonSet(uid="", name=name, spec=fields.get("spec", spec())))
        else:
            stops = {"deleting_since": stage.now() + timedelta(hours=1)} if "stopping" in fields else {}
            stage.pod(
                name,
                **{"started_at": stage.now(), **_said(fields), **stops, "owners": _owners(stage, fields)},
            )
    stage.run(3)  # pods of daemon sets are made, and run
    return stage


def _said(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in fields.items() if key != "stopping"}


def _owners(stage: Ending, fields: Mapping[str, Any]) -> tuple[Owner, ...]:
    """Return the node as the owner of a static pod."""
    (node,) = stage.api.nodes()
    return tuple(replace(owner, name=node.name, uid=node.uid) for owner in fields.get("owners", ()))


def _split(call: str) -> tuple[str, float]:
    """Return a call without its seconds of grace, and these. Pods of daemon sets are called after those."""
    verb, pod, *grace = call.split()
    if verb == "terminate":
        return verb, 0.0
    return f"{verb} {pod.partition('-')[0]}", float(grace[0]) if grace else 0.0


@pytest.mark.parametrize("case", CASES.values(), ids=list(CASES))
def test_pods_of_a_node_that_goes(case: Case) -> None:
    stage = _staged(case)
    began, done = stage.seconds, dict[str, tuple[float, float]]()
    _begin(stage, case)

    for second in range(int(case.gone or _FOR_EVER)):
        if case.ready is not None:
            stage.decide(ready=second >= case.ready)
        stage.run(1)
        for call in (*stage.calls(), *stage.cloud.troubles.calls):
            if call.startswith(_TOLD):
                name, grace = _split(call)
                done.setdefault(name, (stage.seconds - began, grace))

    refused = {f"evict_pod {name}" for name, pod in case.pods.items() if pod == WEB and case.allowed == 0}
    if not any(call.startswith("terminate") for _, call in case.calls):
        done.pop("terminate", None)
    made = {name: when for name, when in done.items() if name not in refused}
    due = {name: (at, grace) for at, call in case.calls for name, grace in [_split(call)]}
    assert sorted(made) == sorted(due)
    for name, (at, grace) in due.items():
        assert at <= made[name][0] <= at + _WITHIN, name
        assert grace - _WITHIN <= made[name][1] <= grace, name
    if case.gone is None:
        assert stage.claim() is not None
    else:
        stage.assert_all_gone()
