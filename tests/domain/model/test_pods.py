from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from treenail.domain.model import labels
from treenail.domain.model.pods import Expression, LabelSelector, NodeAffinity, Owner, Phase, Pod, PodSpec
from treenail.domain.model.requirements import Operator, Requirement, Requirements
from treenail.domain.model.taints import DISRUPTED, Effect, Toleration, TolerationOperator

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
LONG_AGO = NOW - timedelta(hours=1)
JUST_NOW = NOW - timedelta(seconds=30)

DAEMON = Owner("DaemonSet", "cni", "d1", "apps/v1")
NODE = Owner("Node", "ip-10-0-0-1", "n1", "v1")
STATEFUL = Owner("StatefulSet", "db", "s1", "apps/v1")
REPLICAS = Owner("ReplicaSet", "web-1", "r1", "apps/v1")

STAYS = PodSpec(tolerations=(Toleration(operator=TolerationOperator.EXISTS),))


def pod(**fields: Any) -> Pod:
    return Pod(**{"uid": "u1", "name": "web-1-x", "created_at": LONG_AGO, **fields})


def pending(**fields: Any) -> Pod:
    return pod(**{"unschedulable_since": JUST_NOW, **fields})


def running(**fields: Any) -> Pod:
    return pod(**{"phase": Phase.RUNNING, "node_name": "n1", "started_at": LONG_AGO, **fields})


@pytest.mark.parametrize(
    ("one", "provisionable"),
    [
        (pending(), True),
        (pending(owners=(REPLICAS,)), True),
        (pending(unschedulable_since=None), False),
        (pending(node_name="n1"), False),
        (pending(nominated_node="n1"), False),
        (pending(owners=(DAEMON,)), False),
        (pending(owners=(REPLICAS, DAEMON)), False),
        (pending(owners=(NODE,)), False),
        (pending(deleting_since=JUST_NOW), False),
        (pending(phase=Phase.FAILED), False),
        (pending(phase=Phase.SUCCEEDED), False),
    ],
)
def test_a_pod_is_provisionable(one: Pod, *, provisionable: bool) -> None:
    assert one.provisionable == provisionable


@pytest.mark.parametrize(
    ("one", "reschedulable"),
    [
        (running(), True),
        (running(owners=(DAEMON,)), False),
        (running(owners=(NODE,)), False),
        (running(deleting_since=JUST_NOW), False),
        (running(deleting_since=JUST_NOW, owners=(STATEFUL,)), True),
        (running(deleting_since=JUST_NOW, owners=(REPLICAS,)), False),
        (running(phase=Phase.SUCCEEDED), False),
        (running(phase=Phase.SUCCEEDED, owners=(STATEFUL,)), False),
    ],
)
def test_a_pod_comes_back_elsewhere(one: Pod, *, reschedulable: bool) -> None:
    assert one.reschedulable == reschedulable


@pytest.mark.parametrize(
    ("annotations", "started_at", "protected"),
    [
        ({}, LONG_AGO, False),
        ({labels.DO_NOT_DISRUPT: "true"}, LONG_AGO, True),
        ({labels.DO_NOT_DISRUPT: "false"}, LONG_AGO, False),
        ({labels.DO_NOT_DISRUPT: "2h"}, LONG_AGO, True),
        ({labels.DO_NOT_DISRUPT: "30m"}, LONG_AGO, False),
        ({labels.DO_NOT_DISRUPT: "1h"}, LONG_AGO, False),
        ({labels.DO_NOT_DISRUPT: "30m"}, None, True),
        ({labels.DO_NOT_DISRUPT: "0s"}, None, False),
        ({labels.DO_NOT_DISRUPT: "-1h"}, None, False),
        ({labels.DO_NOT_DISRUPT: "a while"}, None, False),
        ({labels.DO_NOT_EVICT: "true"}, LONG_AGO, True),
        ({labels.DO_NOT_EVICT: "1h"}, LONG_AGO, False),
    ],
)
def test_an_annotation_protects_a_pod(
    annotations: dict[str, str], started_at: datetime | None, *, protected: bool
) -> None:
    one = running(annotations=annotations, started_at=started_at)

    assert one.protected(NOW) == protected
    assert one.evictable(NOW) != protected


@pytest.mark.parametrize(
    ("one", "drainable", "evictable"),
    [
        (running(), True, True),
        (running(owners=(DAEMON,)), True, True),
        (running(annotations={labels.DO_NOT_DISRUPT: "true"}), True, False),
        (running(owners=(NODE,)), False, False),
        (running(spec=STAYS), False, False),
        (running(spec=PodSpec(tolerations=(Toleration(DISRUPTED.key),))), False, False),
        (
            running(spec=PodSpec(tolerations=(Toleration(DISRUPTED.key, effect=Effect.NO_EXECUTE),))),
            True,
            True,
        ),
        (running(phase=Phase.SUCCEEDED), False, False),
        (running(phase=Phase.FAILED), False, False),
        (running(deleting_since=JUST_NOW), True, False),
        (running(deleting_since=NOW - timedelta(minutes=1)), True, False),
        (running(deleting_since=NOW - timedelta(seconds=61)), False, False),
    ],
)
def test_a_drain_waits_for_a_pod_and_may_evict_it(one: Pod, *, drainable: bool, evictable: bool) -> None:
    assert one.drainable(NOW) == drainable
    assert one.evictable(NOW) == evictable


@pytest.mark.parametrize(
    ("one", "bound"),
    [
        (pending(), False),
        (running(), True),
        (running(deleting_since=NOW), True),
        (running(phase=Phase.FAILED), False),
    ],
)
def test_a_pod_holds_room_from_binding_to_its_end(one: Pod, *, bound: bool) -> None:
    assert one.bound == bound


def test_the_owner_is_the_one_that_would_make_the_pod_again() -> None:
    bystander = Owner("ConfigMap", "c", "c1", controller=False)

    assert running(owners=(bystander, REPLICAS)).owner == REPLICAS
    assert running(owners=(bystander,)).owner is None


def test_a_pod_is_named_as_people_write_it() -> None:
    assert pod(namespace="shop", name="web").key == "shop/web"


@pytest.mark.parametrize(
    ("priority_class", "critical"),
    [("", False), ("high", False), ("system-cluster-critical", True), ("system-node-critical", True)],
)
def test_a_pod_of_the_system_is_critical(priority_class: str, *, critical: bool) -> None:
    assert pod(spec=PodSpec(priority_class=priority_class)).critical == critical


ARM = Expression(labels.ARCH, Operator.IN, ("arm64",))
NOT_SMALL = Expression(labels.INSTANCE_CPU, Operator.GT, ("3",))


def test_every_alternative_has_the_selector_and_its_own_term() -> None:
    spec = PodSpec(
        node_selector=((labels.OS, "linux"),),
        node_affinity=NodeAffinity(required=((ARM, NOT_SMALL), (NOT_SMALL,))),
    )
    linux = Requirement.of(labels.OS, Operator.IN, ["linux"])

    assert spec.alternatives() == (
        Requirements([linux, ARM.requirement(), NOT_SMALL.requirement()]),
        Requirements([linux, NOT_SMALL.requirement()]),
    )


def test_a_pod_without_affinity_has_one_alternative() -> None:
    assert PodSpec().alternatives() == (Requirements(),)


def test_older_label_names_are_read_as_the_newer() -> None:
    spec = PodSpec(
        node_selector=(("beta.kubernetes.io/arch", "arm64"),),
        node_affinity=NodeAffinity(
            required=((Expression("failure-domain.beta.kubernetes.io/zone", Operator.IN, ("a",)),),)
        ),
    )

    assert spec.alternatives() == (Requirements.from_labels({labels.ARCH: "arm64", labels.ZONE: "a"}),)


def test_selector_and_affinity_on_one_key_are_met_together() -> None:
    spec = PodSpec(node_selector=((labels.ARCH, "amd64"),), node_affinity=NodeAffinity(required=((ARM,),)))

    assert spec.alternatives()[0][labels.ARCH].operator is Operator.DOES_NOT_EXIST


WEB = {"app": "web", "tier": "3"}


@pytest.mark.parametrize(
    ("selector", "selects"),
    [
        (LabelSelector(), True),
        (LabelSelector(match_labels=(("app", "web"),)), True),
        (LabelSelector(match_labels=(("app", "web"), ("env", "prod"))), False),
        (LabelSelector(expressions=(Expression("app", Operator.IN, ("web", "db")),)), True),
        (LabelSelector(expressions=(Expression("app", Operator.NOT_IN, ("web",)),)), False),
        (LabelSelector(expressions=(Expression("env", Operator.IN, ("prod",)),)), False),
        (LabelSelector(expressions=(Expression("env", Operator.NOT_IN, ("prod",)),)), True),
        (LabelSelector(expressions=(Expression("app", Operator.EXISTS),)), True),
        (LabelSelector(expressions=(Expression("env", Operator.EXISTS),)), False),
        (LabelSelector(expressions=(Expression("env", Operator.DOES_NOT_EXIST),)), True),
        (LabelSelector(expressions=(Expression("tier", Operator.GT, ("2",)),)), True),
        (LabelSelector(expressions=(Expression("tier", Operator.LT, ("2",)),)), False),
        (LabelSelector(expressions=(Expression("env", Operator.GT, ("2",)),)), False),
        (LabelSelector((("app", "web"),), (Expression("tier", Operator.DOES_NOT_EXIST),)), False),
    ],
)
def test_a_selector_selects_by_labels(selector: LabelSelector, *, selects: bool) -> None:
    assert selector.selects(WEB) == selects
