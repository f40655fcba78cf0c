"""What every implementation of `ClusterReader` and `ClusterWriter` does, over any API server there is."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from tests.adapters.fake.cluster.rig import Rig
from tests.contracts.cluster.subject import Subject
from tests.real.kubernetes.subject import RealSubject, install_crds
from tests.real.parts.binaries import NotBuiltError
from tests.real.parts.control_plane import PARTS, ControlPlane
from treenail.adapters.api.workloads import ApiObject
from treenail.adapters.api.written.node_classes import written_meaning
from treenail.domain.model.events import ClusterEvent, ObjectRef
from treenail.domain.model.node_classes import NodeClass
from treenail.domain.model.nodes import Condition, Node
from treenail.domain.model.pods import Pod
from treenail.domain.ports import ClusterReader, ClusterWriter, LeaseStore

HERE: Final = Path(__file__).parent


class FakeSubject:
    def __init__(self) -> None:
        self._rig = Rig()
        self.reader: ClusterReader = self._rig.cluster
        self.writer: ClusterWriter = self._rig.cluster
        self.lease: LeaseStore = self._rig.cluster.lease("test", namespace="default")

    def apply(self, *objects: ApiObject) -> None:
        self._rig.cluster.apply(*objects)

    def pod(self, name: str) -> Pod | None:
        return next((p for p in self._rig.cluster.pods() if p.name == name), None)

    def node(self, name: str) -> Node | None:
        return next((n for n in self._rig.cluster.nodes() if n.name == name), None)

    def conditions(self, about: ObjectRef) -> tuple[Condition, ...]:
        return self._rig.cluster.conditions(about)

    def class_generation(self, about: ObjectRef) -> int:
        return self._rig.cluster.class_generation(about)

    def annotations(self, about: ObjectRef) -> Mapping[str, str]:
        return self._rig.cluster.annotations(about)

    def status(self, about: ObjectRef) -> Mapping[str, Any] | None:
        usage = self._rig.cluster.usage(about)
        if usage is not None:
            old = about.kind == "Provisioner"
            resources = usage.shown().format() | ({} if old else {"nodes": str(usage.nodes)})
            return {"resources": resources} | ({} if old else {"nodes": usage.nodes})
        if all(there.ref.name != about.name for there in self._rig.cluster.objects(NodeClass)):
            return None
        meaning = self._rig.cluster.meaning(about)
        return {} if meaning is None else written_meaning(about.kind, meaning)

    def delete(self, about: ObjectRef) -> None:
        self._rig.cluster.delete(about.kind, about.name)

    def events(self) -> list[tuple[ClusterEvent, int]]:
        return [(record.event, record.count) for record in self._rig.cluster.events()]

    def settle(self) -> None:
        self._rig.run(0.1)

    def close(self) -> None:
        self.reader.stop()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Let one worker run all that is held against the real API server, so that it is started once."""
    if not config.pluginmanager.hasplugin("xdist"):
        return
    for item in items:
        if item.path.is_relative_to(HERE) and "[real" in item.name:
            item.add_marker(pytest.mark.xdist_group("contract of clusters"))


@pytest.fixture(scope="session")
def empty_server() -> Iterator[ControlPlane]:
    """An API server with our CRDs, which nobody else uses: each test leaves it empty."""
    try:
        server = ControlPlane(without=PARTS[2:])
    except NotBuiltError as error:
        pytest.skip(str(error))
    with server:
        install_crds(server)
        yield server


@pytest.fixture(params=["fake", "real"])
def subject(request: pytest.FixtureRequest) -> Iterator[Subject]:
    subject: FakeSubject | RealSubject
    if request.param == "fake":
        subject = FakeSubject()
    else:
        subject = RealSubject(request.getfixturevalue("empty_server"))
    yield subject
    subject.close()
