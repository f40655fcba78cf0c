from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from tests.actors.stage import Stage
from tests.actors.troubles import Api
from tests.builders import DEFAULT_CLASS, claim, node_class, node_pool
from tests.probes import Probe
from treenail.actors.status_reporter import StatusReporter
from treenail.domain.cluster.cluster_facts import Kind, ObjectSetAside, PoolsSeen
from treenail.domain.cluster.set_aside import ObjectUnderstood
from treenail.domain.lifecycle.lifecycle import NodeNeverCame, NodeRegistered
from treenail.domain.model.catalogue_keys import CatalogueKey
from treenail.domain.model.causes import Cause
from treenail.domain.model.errors import (
    ConflictError,
    InvalidError,
    NotFoundError,
    PortError,
    UnavailableError,
)
from treenail.domain.model.events import ObjectRef
from treenail.domain.model.node_class_status import NodeClassMeaning, NodeClassStatus, NodeClassStatusSeen
from treenail.domain.model.node_classes import DEFAULT_KUBELET
from treenail.domain.model.nodes import Condition, condition_of
from treenail.domain.model.template_hash import HASH_VERSION, own_stamps
from treenail.domain.scheduling.nothing_to_buy import NothingToBuy
from treenail.domain.status.readiness import NodeClassChecked, NodeClassesWanted, ReadinessChanged

POOL = ObjectRef(kind="NodePool", name="default")
CLASS = ObjectRef(kind="EC2NodeClass", name="default")
SEEN = PoolsSeen(pools=(node_pool(),), node_classes=(node_class(),))
TRANSITIONED = "Status condition transitioned"
NO_SUBNETS = "spec.subnetSelectorTerms: finds none"


class Shown(Api):
    """The fake cluster, which counts how often conditions are written, and can refuse that."""

    def set_conditions(
        self,
        about: ObjectRef,
        conditions: tuple[Condition, ...],
        meaning: NodeClassMeaning | None = None,
        *,
        class_generation: int = 0,
    ) -> None:
        def write() -> None:
            super(Shown, self).set_conditions(about, conditions, meaning, class_generation=class_generation)

        self.troubles.run("set_conditions", str(about), write)

    def annotate(self, about: ObjectRef, annotations: Mapping[str, str]) -> None:
        self.troubles.run("annotate", str(about), lambda: super(Shown, self).annotate(about, annotations))


class Reporting(Stage):
    """A reporter, with a pool and its node class in the API."""

    def __init__(self) -> None:
        super().__init__()
        self.api = Shown(self.world)
        self.api.apply(node_class(), node_pool())
        self.selector, self.observer = Probe(), Probe()
        self.reporter: Any = self.host(
            lambda runtime: StatusReporter(
                runtime, selector=self.selector, writer=self.api, observer=self.observer
            )
        )

    def tell(self, *messages: object, seconds: float = 2) -> None:
        for message in messages:
            self.reporter.tell(message)
        self.run(seconds)

    def ready(self, about: ObjectRef) -> str:
        """Return what an object shows: a letter for each condition, in the order they are written."""
        return "".join(c.status.value[0] for c in self.api.conditions(about))

    def events(self) -> list[tuple[str, str, str, bool]]:
        """Return the events but those that a condition has another status."""
        told = [r.event for r in self.api.events() if not r.event.message.startswith(TRANSITIONED)]
        return [(str(e.about), e.reason, e.message, e.warning) for e in told]

    def transitions(self) -> list[str]:
        """Return what the events say whose condition has another status."""
        told = [r.event for r in self.api.events() if r.event.message.startswith(TRANSITIONED)]
        return [f"{e.about}{e.message.removeprefix(TRANSITIONED)}" for e in told]

    def written(self) -> list[str]:
        """Return what was written since this was last called."""
        written = [c for c in self.api.troubles.calls if not c.startswith("annotate")]
        calls = [c.removeprefix("set_conditions ") for c in written]
        self.api.troubles.calls.clear()
        return calls


def checked(problem: str = "") -> NodeClassChecked:
    selector = "subnets" if problem else ""
    key = CatalogueKey(DEFAULT_CLASS, 1, DEFAULT_KUBELET)
    return NodeClassChecked(key=key, problem=problem, selector=selector)


STOOD = NodeClassStatusSeen(node_class=node_class(), status=NodeClassStatus())


def set_aside(kind: Kind = Kind.NODE_POOL, about: ObjectRef = POOL) -> ObjectSetAside:
    return ObjectSetAside(kind=kind, key="k", resource_version=3, about=about, problem="spec.x: unknown")


def test_a_pool_that_can_be_used_shows_it_and_so_does_its_node_class() -> None:
    stage = Reporting()

    stage.tell(SEEN, STOOD, checked())

    assert stage.selector.received == [NodeClassesWanted(wanted=((node_class(), DEFAULT_KUBELET),))]
    assert (stage.ready(POOL), stage.ready(CLASS)) == ("TTT", "TT")
    assert (stage.events(), stage.observer.received) == ([], [])


def test_what_comes_within_a_second_is_written_once_for_each_object() -> None:
    stage = Reporting()

    stage.tell(PoolsSeen(pools=(node_pool(),), node_classes=()), seconds=0.5)
    stage.tell(SEEN, STOOD, checked(), seconds=5)

    assert stage.written() == ["EC2NodeClass default", "NodePool default"]
    assert stage.events() == []


def test_nothing_is_written_while_all_is_as_it_was() -> None:
    stage = Reporting()
    stage.tell(SEEN, STOOD, checked())
    stage.written()

    for version in range(2, 50):
        pools = (node_pool(version=version),)
        stage.tell(PoolsSeen(pools=pools, node_classes=(node_class(version=version),)), STOOD, seconds=0)
        stage.tell(checked(), seconds=60)

    assert stage.written() == []


def test_a_node_class_that_leads_nowhere_is_told_on_it_and_on_its_pools() -> None:
    stage = Reporting()

    stage.tell(SEEN, STOOD, checked("finds none"))

    assert (stage.ready(POOL), stage.ready(CLASS)) == ("TFF", "FF")
    assert stage.events() == [
        ("EC2NodeClass default", "SubnetsNotFound", NO_SUBNETS, True),
        ("NodePool default", "SubnetsNotFound", f"EC2NodeClass/default: {NO_SUBNETS}", True),
    ]
    assert [line["problem"] for line in stage.logged("object not ready")] == [
        message for _, _, message, _ in stage.events()
    ]
    for kind in ("NodePool", "NodeClass"):
        assert stage.telemetry.counted("treenail_objects_set_aside_total", kind=kind) == 1
    assert [m.about.kind for m in stage.observer.of(ReadinessChanged)] == ["EC2NodeClass", "NodePool"]


def test_a_node_class_that_is_put_right_in_the_cloud_is_found_within_half_a_minute() -> None:
    stage = Reporting()
    stage.tell(SEEN, STOOD, checked("finds none"))
    stage.selector.received.clear()

    stage.run(30)
    assert len(stage.selector.received) == 1
    stage.tell(checked())

    assert (stage.ready(POOL), stage.ready(CLASS)) == ("TTT", "TT")
    assert [line["about"] for line in stage.logged("object ready again")] == [
        "EC2NodeClass default",
        "NodePool default",
    ]
    assert [m.condition.status.value for m in stage.observer.of(ReadinessChanged)] == [
        *("False", "False"),
        *("True", "True"),
    ]


def test_where_all_is_well_the_cloud_is_asked_every_five_minutes() -> None:
    stage = Reporting()
    stage.tell(SEEN, STOOD, checked(), seconds=5)
    stage.selector.received.clear()

    stage.run(1200)

    assert len(stage.selector.received) == 4


@pytest.mark.parametrize("error", [UnavailableError("no answer"), ConflictError("too many writers")])
def test_what_could_not_be_written_is_written_within_half_a_minute(error: PortError) -> None:
    stage = Reporting()
    stage.api.troubles.fail("set_conditions", error, times=2)

    stage.tell(SEEN, STOOD, checked())
    assert stage.ready(POOL) == ""
    stage.run(31)

    assert (stage.ready(POOL), stage.ready(CLASS)) == ("TTT", "TT")


@pytest.mark.parametrize("error", [InvalidError("spec.weight: too large"), NotFoundError("gone")])
def test_what_cannot_be_written_is_left_as_it_is(error: PortError) -> None:
    stage = Reporting()
    stage.api.troubles.fail("set_conditions", error, times=100)

    stage.tell(SEEN, STOOD, checked(), seconds=1000)

    assert len(stage.written()) == 2
    assert [line["why"] for line in stage.logged("conditions not written")] == [str(error)] * 2


def test_a_pool_nobody_understands_is_not_ready_until_it_is_understood() -> None:
    stage = Reporting()
    stage.tell(SEEN, STOOD, checked())

    stage.tell(set_aside())
    assert stage.ready(POOL) == "FTF"
    assert stage.events() == [("NodePool default", "FailedValidation", "spec.x: unknown", True)]
    stage.tell(ObjectUnderstood(kind=Kind.NODE_POOL, about=POOL))

    assert stage.ready(POOL) == "TTT"
    assert stage.logged("object set aside no longer") == [{"about": "NodePool default"}]


def test_a_pod_nobody_understands_gets_the_event_alone() -> None:
    stage = Reporting()
    about = ObjectRef(kind="Pod", name="p1", namespace="default", uid="u")

    stage.tell(set_aside(Kind.POD, about))

    assert stage.events() == [("Pod default/p1", "FailedValidation", "spec.x: unknown", True)]
    assert stage.written() == []


def test_an_event_that_cannot_be_published_is_dropped() -> None:
    stage = Reporting()
    stage.api.unavailable_until(0.5)

    stage.tell(set_aside(Kind.POD, ObjectRef("Pod", "p1", "default")), seconds=60)

    assert stage.events() == []


def test_a_pool_with_another_class_is_asked_about_at_once() -> None:
    stage = Reporting()
    stage.tell(SEEN, STOOD, checked())
    stage.selector.received.clear()
    other = replace(node_class(), ref=replace(DEFAULT_CLASS, name="other"))

    stage.tell(PoolsSeen(pools=(node_pool(),), node_classes=(node_class(), other)), seconds=0)

    assert stage.selector.received == [NodeClassesWanted(wanted=((other, DEFAULT_KUBELET),))]


# --- transitions, hashes, and how nodes register


def test_a_condition_that_changes_is_told_as_karpenter_tells_it() -> None:
    stage = Reporting()
    stage.tell(SEEN, STOOD, checked())

    assert stage.transitions() == []
    stage.tell(checked("no subnets"))
    of_class = [told for told in stage.transitions() if told.startswith("EC2NodeClass")]
    of_pool = [told for told in stage.transitions() if told.startswith("NodePool")]
    failed = "Status: True -> False, Reason: SubnetsNotFound, Message: "
    because = "spec.subnetSelectorTerms: no subnets"
    assert f"EC2NodeClass default, Type: Ready, {failed}{because}" in of_class
    assert of_pool[0] == f"NodePool default, Type: NodeClassReady, {failed}EC2NodeClass/default: {because}"
    unhealthy = "Reason: UnhealthyDependents, Message: NodeClassReady=False"
    assert of_pool[1] == f"NodePool default, Type: Ready, Status: True -> False, {unhealthy}"


def test_pools_and_node_classes_bear_their_hashes_written_once() -> None:
    stage = Reporting()
    stage.tell(SEEN, STOOD, checked())

    assert stage.api.annotations(POOL) == own_stamps(node_pool())
    assert stage.api.annotations(CLASS) == own_stamps(node_class())
    versions = {key: value for key, value in stage.api.annotations(POOL).items() if "version" in key}
    assert versions == {"karpenter.sh/nodepool-hash-version": HASH_VERSION}


def test_the_hash_of_a_pool_follows_its_template() -> None:
    stage = Reporting()
    stage.tell(SEEN, STOOD, checked())
    before = stage.api.annotations(POOL)["karpenter.sh/nodepool-hash"]

    labelled = replace(node_pool(version=2), labels={"team": "web"})
    stage.tell(PoolsSeen(pools=(labelled,), node_classes=(node_class(),)))

    assert stage.api.annotations(POOL) == own_stamps(labelled)
    assert stage.api.annotations(POOL)["karpenter.sh/nodepool-hash"] != before


def test_a_hash_that_cannot_be_written_is_tried_again() -> None:
    stage = Reporting()
    stage.api.troubles.fail("annotate", UnavailableError("away"), times=2)
    stage.tell(SEEN, STOOD, checked(), seconds=65)

    assert stage.api.annotations(POOL) == own_stamps(node_pool())


def registered() -> NodeRegistered:
    return NodeRegistered(claim=claim("c1"), node="n1")


def never_came(cause: Cause = Cause.REGISTRATION_TIMEOUT) -> NodeNeverCame:
    return NodeNeverCame(claim=claim("c1"), cause=cause)


def health(stage: Reporting) -> tuple[str, str] | None:
    found = condition_of(stage.api.conditions(POOL), "NodeRegistrationHealthy")
    return None if found is None else (found.status.value, found.reason)


@pytest.mark.parametrize(
    ("ends", "shown"),
    [
        ([], None),
        ([registered()], ("True", "NodeRegistrationHealthy")),
        ([never_came()], None),
        ([never_came(), never_came()], ("False", "RegistrationFailed")),
        ([never_came(), never_came(Cause.LAUNCH_TIMEOUT)], ("False", "LaunchFailed")),
        ([registered(), never_came(), registered()], ("True", "NodeRegistrationHealthy")),
        ([never_came(), never_came(), registered(), registered()], ("False", "RegistrationFailed")),
        (
            [never_came(), never_came(), registered(), registered(), registered()],
            ("True", "NodeRegistrationHealthy"),
        ),
    ],
)
def test_a_pool_shows_whether_its_nodes_come_to_register(
    ends: list[object], shown: tuple[str, str] | None
) -> None:
    stage = Reporting()
    stage.tell(SEEN, STOOD, checked())

    stage.tell(*ends)

    assert health(stage) == shown
    assert stage.ready(POOL)[:3] == "TTT"


def test_a_pool_that_says_something_else_does_not_know_how_its_nodes_will_register() -> None:
    stage = Reporting()
    stage.tell(SEEN, STOOD, checked(), never_came(), never_came())

    labelled = replace(node_pool(version=2), labels={"team": "web"})
    stage.tell(PoolsSeen(pools=(labelled,), node_classes=(node_class(),)))

    assert health(stage) == ("Unknown", "AwaitingReconciliation")


def test_a_pool_that_nothing_can_be_bought_for_is_told_so_once_a_minute() -> None:
    stage = Reporting()
    for seconds in (1, 65, 40):
        stage.tell(NothingToBuy(pool=POOL), seconds=seconds)
    stage.tell(NothingToBuy(pool=POOL, min_values=True))

    reason, message = "NoCompatibleInstanceTypes", "NodePool requirements filtered out all compatible"
    few = f"{message} available instance types due to minValues incompatibility"
    assert stage.events() == [
        ("NodePool default", reason, f"{message} available instance types", True),
        ("NodePool default", reason, few, True),
    ]
    [first, _] = [r for r in stage.api.events() if r.event.reason == "NoCompatibleInstanceTypes"]
    assert first.count == 2


def test_a_pool_says_of_which_generation_of_its_node_class_it_tells() -> None:
    stage = Reporting()
    second = replace(node_class(), generation=2)
    stage.tell(PoolsSeen(pools=(node_pool(),), node_classes=(second,)), checked(), STOOD)

    assert stage.api.class_generation(POOL) == 2
    assert stage.api.class_generation(CLASS) == 0
