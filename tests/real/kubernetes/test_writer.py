from __future__ import annotations

import contextlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.adapters.fake.cluster.builders import a_claim, a_node, a_pool
from tests.real.kubernetes.subject import RealSubject, install_crds, remove_crds
from tests.real.parts.binaries import NotBuiltError
from tests.real.parts.control_plane import ControlPlane
from tests.real.parts.kubectl import Kubectl
from tests.real.parts.objects import MERGE
from treenail.adapters.kubernetes.connection import Connection
from treenail.adapters.kubernetes.writer import KubernetesWriter
from treenail.adapters.runtime.clock import SystemClock
from treenail.adapters.runtime.dice import SystemDice
from treenail.domain.model.errors import ConflictError, NotFoundError
from treenail.domain.model.events import ClusterEvent, ObjectRef
from treenail.domain.model.nodes import Condition, Status
from treenail.domain.model.patches import ClaimPatch, NodePatch
from treenail.domain.model.taints import DISRUPTED
from treenail.domain.ports import ClusterWriter


@pytest.fixture(scope="module")
def server(api_server: ControlPlane) -> Iterator[ControlPlane]:
    """An API server that has been given our CRDs."""
    install_crds(api_server)
    yield api_server
    remove_crds(api_server)


@pytest.fixture
def subject(server: ControlPlane) -> Iterator[RealSubject]:
    subject = RealSubject(server)
    yield subject
    subject.close()


def another_writer(server: ControlPlane) -> tuple[KubernetesWriter, Connection]:
    connection = Connection.open(kubeconfig=server.kubeconfig, qps=10_000, burst=10_000)
    return KubernetesWriter(connection, clock=SystemClock(), dice=SystemDice()), connection


def until_done(writer: ClusterWriter, patch: ClaimPatch) -> None:
    """Patch a claim; whoever is asked for too much at once may be the last every time, and is asked again."""
    for _ in range(20):
        with contextlib.suppress(ConflictError):
            writer.patch_claim("c-0", patch)
            return
    raise AssertionError("somebody else is always first")


def test_two_that_write_to_one_claim_lose_nothing(server: ControlPlane, subject: RealSubject) -> None:
    """Each remembers what it last saw, which the other has changed since."""
    other, connection = another_writer(server)
    subject.writer.create_claim(a_claim("c-0"))

    def write(writer: ClusterWriter, name: str) -> None:
        for number in range(10):
            mark = f"{name}{number}"
            patch = ClaimPatch(
                labels={mark: "1"},
                conditions=(Condition(mark, Status.TRUE),),
                add_finalizers=(f"example.com/{mark}",),
            )
            until_done(writer, patch)

    with ThreadPoolExecutor(2) as threads:
        list(threads.map(write, (subject.writer, other), ("a", "b")))
    connection.close()

    marks = sorted(f"{name}{number}" for name in "ab" for number in range(10))
    claim = subject.reader.get_claim("c-0")
    assert sorted(claim.labels) == marks
    assert sorted(c.type for c in claim.conditions) == marks
    assert sorted(claim.finalizers) == [f"example.com/{mark}" for mark in marks]


def test_a_taint_of_others_keeps_the_time_it_was_added(server: ControlPlane, subject: RealSubject) -> None:
    subject.apply(a_node("n-0"))
    theirs = {"key": "team", "effect": "NoExecute", "timeAdded": "2026-01-01T00:00:00Z"}
    path = "/api/v1/nodes/n-0"
    server.request("PATCH", path, {"spec": {"taints": [theirs]}}, MERGE)

    subject.writer.patch_node("n-0", NodePatch(add_taints=(DISRUPTED,)))

    assert theirs in server.request("GET", path)[1]["spec"]["taints"]


def test_people_see_events_where_they_look_for_them(server: ControlPlane, subject: RealSubject) -> None:
    try:
        kubectl = Kubectl(server.kubeconfig)
    except NotBuiltError as error:
        pytest.skip(str(error))
    subject.apply(a_pool("spare"), a_node("n-0"))
    about = (ObjectRef("NodePool", "spare"), ObjectRef("Node", "n-0"))

    for ref in about:
        for _ in range(2):
            subject.writer.publish(ClusterEvent(ref, "NoRoom", "none is left", warning=True))

    for ref in about:
        [line] = [line for line in kubectl("describe", ref.kind, ref.name).splitlines() if "NoRoom" in line]
        assert line.split()[:2] == ["Warning", "NoRoom"]
        assert "(x2 over" in line
        assert line.split()[-4:] == ["treenail", "none", "is", "left"]


def test_what_the_cluster_does_not_know_is_not_there(api_server: ControlPlane) -> None:
    writer, connection = another_writer(api_server)

    with pytest.raises(NotFoundError):
        writer.patch_claim("c-0", ClaimPatch(labels={"a": "1"}))
    with pytest.raises(NotFoundError):
        writer.set_conditions(ObjectRef("NodePool", "spare"), (Condition("Ready", Status.TRUE),))
    connection.close()
