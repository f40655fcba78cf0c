"""What every implementation of `ClusterReader` and `ClusterWriter` does, over any API server there is."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.adapters.fake.cluster.rig import Rig
from tests.contracts.cluster.subject import Subject
from treenail.adapters.api.workloads import ApiObject
from treenail.domain.events import ClusterEvent, ObjectRef
from treenail.domain.nodes import Condition, Node
from treenail.domain.pods import Pod
from treenail.domain.ports import ClusterReader, ClusterWriter


class FakeSubject:
    def __init__(self) -> None:
        self._rig = Rig()
        self.reader: ClusterReader = self._rig.cluster
        self.writer: ClusterWriter = self._rig.cluster

    def apply(self, *objects: ApiObject) -> None:
        self._rig.cluster.apply(*objects)

    def pod(self, name: str) -> Pod | None:
        return next((p for p in self._rig.cluster.pods() if p.name == name), None)

    def node(self, name: str) -> Node | None:
        return next((n for n in self._rig.cluster.nodes() if n.name == name), None)

    def conditions(self, about: ObjectRef) -> tuple[Condition, ...]:
        return self._rig.cluster.conditions(about)

    def events(self) -> list[tuple[ClusterEvent, int]]:
        return [(record.event, record.count) for record in self._rig.cluster.events()]

    def settle(self) -> None:
        self._rig.run(0.1)


@pytest.fixture(params=[FakeSubject])
def subject(request: pytest.FixtureRequest) -> Iterator[Subject]:
    subject: Subject = request.param()
    yield subject
    subject.reader.stop()
