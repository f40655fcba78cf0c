"""What every reader tells of workloads: how many pods each wants, and what holds them back."""

from __future__ import annotations

from typing import Final

from tests.adapters.fake.cluster.builders import a_spec, a_stateful_set
from tests.adapters.fake.cluster.rig import Listener
from tests.contracts.cluster.subject import Subject
from treenail.adapters.api.workloads import ReplicaSet
from treenail.domain.cluster.cluster_facts import Resynced
from treenail.domain.cluster.workloads import Workload
from treenail.domain.model.labels import PROVISION_FOR
from treenail.domain.model.pod_templates import PodTemplate
from treenail.domain.model.pods import LabelSelector

Told = tuple[str, int, bool, bool]
WEB: Final = {"app": "web"}


def a_replica_set(name: str, replicas: int, *, provision_for: str = "") -> ReplicaSet:
    return ReplicaSet(
        name=name,
        replicas=replicas,
        selector=LabelSelector(match_labels=tuple(WEB.items())),
        template=PodTemplate(labels=WEB, spec=a_spec()),
        annotations={PROVISION_FOR: provision_for} if provision_for else {},
    )


def told(listener: Listener) -> dict[str, Told]:
    things = listener.of(Resynced)[-1].objects
    found = [thing for thing in things if isinstance(thing, Workload)]
    return {f"{w.kind}/{w.name}": (w.namespace, w.wanted, w.in_turn, w.for_pods_only) for w in found}


def test_replica_sets_are_told_with_the_pods_they_want_and_others_not(subject: Subject) -> None:
    listener = Listener()
    subject.apply(
        a_replica_set("old", 0), a_replica_set("web", 3), a_replica_set("batch", 2, provision_for="pods")
    )

    subject.reader.feed(listener)
    subject.settle()

    assert told(listener) == {
        "ReplicaSet/web": ("default", 3, False, False),
        "ReplicaSet/batch": ("default", 2, False, True),
    }


def test_stateful_sets_are_told_with_whether_their_pods_come_in_turn(subject: Subject) -> None:
    listener = Listener()
    subject.apply(a_stateful_set("db", 4), a_stateful_set("cache", 5, parallel=True))

    subject.reader.feed(listener)
    subject.settle()

    assert told(listener) == {
        "StatefulSet/db": ("default", 4, True, False),
        "StatefulSet/cache": ("default", 5, False, False),
    }
