from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pytest
import urllib3
import yaml

from tests.real.kubernetes.detour import Detour
from tests.real.parts.binaries import NotBuiltError
from tests.real.parts.control_plane import PARTS, ControlPlane
from treenail.adapters.kubernetes.connection import Connection
from treenail.adapters.kubernetes.errors import ExpiredError
from treenail.adapters.kubernetes.pace import Pace
from treenail.adapters.kubernetes.reader import KubernetesReader
from treenail.adapters.kubernetes.resources import NODE_POOL, POD, VOLUME_ATTACHMENT, WATCHED, Resource
from treenail.domain.cluster.cluster_facts import (
    ClusterFact,
    ClusterObject,
    Kind,
    ObjectGone,
    ObjectSeen,
    ObjectSetAside,
    Resynced,
    key_of,
    kind_of,
)
from treenail.domain.model.errors import UnavailableError
from treenail.domain.model.pods import Pod

PODS: Final = "/api/v1/namespaces/default/pods"
NODES: Final = "/api/v1/nodes"
CRDS: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
POOLS_CRD: Final = Path(__file__).parents[3] / "deploy" / "crds" / "karpenter.sh_nodepools.yaml"
PACE: Final = Pace(look_again=(0.2, 0.2), first_pause=0.1, longest_pause=0.5)


class Mirror:
    """Believes every fact, as a client would."""

    def __init__(self) -> None:
        self.holds: dict[tuple[Kind, str], ClusterObject] = {}
        self.full_lists: list[Resynced] = []
        self.changes: list[str] = []
        self._told = threading.Condition()

    def tell(self, fact: ClusterFact, /) -> None:
        with self._told:
            match fact:
                case ObjectSeen():
                    self.changes.append(fact.object.name if isinstance(fact.object, Pod) else "")
                    self.holds[kind_of(fact.object), key_of(fact.object)] = fact.object
                case ObjectGone():
                    gone = self.holds.pop((fact.kind, fact.key), None)
                    self.changes.append(gone.name if isinstance(gone, Pod) else "")
                case Resynced():
                    self.full_lists.append(fact)
                    self.holds = {(kind_of(thing), key_of(thing)): thing for thing in fact.objects}
                case ObjectSetAside():
                    self.changes.append(fact.key)
            self._told.notify_all()

    def until(self, true: Callable[[], bool], *, seconds: float = 60) -> None:
        with self._told:
            assert self._told.wait_for(true, seconds), f"not so after {seconds} s"

    def pods(self) -> dict[str, Pod]:
        return {thing.name: thing for thing in self.holds.values() if isinstance(thing, Pod)}


@pytest.fixture(scope="module")
def parts() -> Iterator[ControlPlane]:
    """An API server of our own, for it is stopped and started."""
    try:
        own = ControlPlane(without=PARTS[2:])
    except NotBuiltError as error:
        pytest.skip(str(error))
    with own:
        yield own


@pytest.fixture(autouse=True)
def _no_pod_is_there(parts: ControlPlane) -> None:
    """Begin with none. Those of the last test go with the API server."""
    parts.request("DELETE", f"{PODS}?gracePeriodSeconds=0")


@pytest.fixture
def detour(parts: ControlPlane) -> Iterator[Detour]:
    with Detour(int(parts.url.rpartition(":")[2])) as detour:
        yield detour


class Rig:
    def __init__(
        self,
        parts: ControlPlane,
        pace: Pace = PACE,
        by: Detour | None = None,
        watched: Sequence[Resource] = WATCHED,
    ) -> None:
        self.mirror = Mirror()
        self.defects: list[BaseException] = []
        self.log: list[tuple[str, dict[str, object]]] = []
        self.connection = connection(parts, by)
        self.reader = KubernetesReader(
            self.connection,
            congested=lambda: False,
            failed=self.defects.append,
            log=lambda message, /, **fields: self.log.append((message, fields)),
            pace=pace,
            watched=watched,
        )

    def start(self) -> Mirror:
        self.reader.feed(self.mirror)
        self.mirror.until(lambda: bool(self.mirror.full_lists))
        return self.mirror

    def close(self) -> None:
        self.reader.stop()
        self.connection.close()
        assert not [t.name for t in threading.enumerate() if t.name.startswith("kubernetes-")]
        assert self.defects == []


@pytest.fixture
def rig(parts: ControlPlane) -> Iterator[Rig]:
    rig = Rig(parts)
    yield rig
    rig.close()


def connection(parts: ControlPlane, by: Detour | None = None) -> Connection:
    if by is None:
        return Connection.open(kubeconfig=parts.kubeconfig, qps=10_000, burst=10_000)
    config = parts.folder / "detour"
    config.write_text(parts.kubeconfig.read_text().replace(parts.url, f"https://127.0.0.1:{by.port}"))
    return Connection.open(kubeconfig=config, qps=10_000, burst=10_000)


def pod(name: str, **labels: str) -> dict[str, Any]:
    container = {"name": "c", "image": "pause", "resources": {"requests": {"cpu": "100m"}}}
    return {"metadata": {"name": name, "labels": labels}, "spec": {"containers": [container]}}


def write(parts: ControlPlane, method: str, path: str, body: object = None, kind: str = "json") -> None:
    content_type = "application/json" if kind == "json" else f"application/{kind}+json"
    code, answer = parts.request(method, path, body, content_type=content_type)
    assert code < 300, answer


def make_pods(rig: Rig, count: int) -> None:
    """Make pods, several at a time."""

    def make(number: int) -> None:
        rig.connection.request("POST", PODS, body=json.dumps(pod(f"p-{number}")).encode(), timeout=60)

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(make, range(count)))


def names_there(parts: ControlPlane) -> set[str]:
    items = parts.request("GET", PODS)[1]["items"]
    return {item["metadata"]["name"] for item in items}


def version_now(parts: ControlPlane) -> str:
    return str(parts.request("GET", f"{PODS}?limit=1")[1]["metadata"]["resourceVersion"])


def compact(parts: ControlPlane, revision: str) -> None:
    """Have etcd forget what was before `revision`."""
    answer = urllib3.request(
        "POST",
        f"http://127.0.0.1:{parts._port['etcd']}/v3/kv/compaction",
        json={"revision": revision, "physical": True},
        timeout=30,
    )
    assert answer.status == 200, answer.data


def first_of_watch(parts: ControlPlane, version: str) -> None:
    """Watch pods from `version` on, until the server says something."""
    query = {"watch": "1", "resourceVersion": version, "timeoutSeconds": "5"}
    with (
        closing(connection(parts)) as own,
        own.stream(POD.path(), query=query, idle_timeout=10) as stream,
    ):
        event = json.loads(next(iter(stream)))
    if event["type"] == "ERROR" and event["object"]["code"] == 410:
        raise ExpiredError(event["object"]["message"])


def test_pods_are_told_as_they_come_change_and_go(parts: ControlPlane, rig: Rig) -> None:
    mirror = rig.start()

    write(parts, "POST", PODS, pod("a"))
    mirror.until(lambda: "a" in mirror.pods())
    write(parts, "PATCH", f"{PODS}/a", {"metadata": {"labels": {"app": "web"}}}, "merge-patch")
    mirror.until(lambda: mirror.pods()["a"].labels.get("app") == "web")
    write(parts, "DELETE", f"{PODS}/a?gracePeriodSeconds=0")

    mirror.until(lambda: not mirror.pods())
    assert len(mirror.full_lists) == 1


def test_watches_that_end_again_and_again_lose_nothing(parts: ControlPlane) -> None:
    rig = Rig(parts, replace(PACE, watch=(1.0, 1.0)))
    mirror = rig.start()
    try:
        until = time.monotonic() + 4
        number = 0
        while time.monotonic() < until:
            write(parts, "POST", PODS, pod(f"w-{number}"))
            number += 1

        mirror.until(lambda: len(mirror.pods()) == number)
        assert len(mirror.changes) == number
    finally:
        rig.close()


def test_after_a_restart_of_the_api_server_only_what_changed_is_told(parts: ControlPlane, rig: Rig) -> None:
    make_pods(rig, 50)
    mirror = rig.start()
    before = version_now(parts)

    write(parts, "DELETE", f"{PODS}/p-7?gracePeriodSeconds=0")
    parts.kill_part("kube-apiserver")
    parts.start_part("kube-apiserver")
    write(parts, "POST", PODS, pod("new"))

    mirror.until(lambda: "new" in mirror.pods())
    assert mirror.pods().keys() == names_there(parts)
    # The end of a pod may be told in two steps.
    assert set(mirror.changes) == {"p-7", "new"}
    assert len(mirror.full_lists) == 1
    with pytest.raises(ExpiredError):
        first_of_watch(parts, before)


def test_what_was_missed_is_found_by_a_new_list_where_the_revision_is_compacted_away(
    parts: ControlPlane, detour: Detour
) -> None:
    rig = Rig(parts, by=detour)
    make_pods(rig, 20)
    mirror = rig.start()
    before = version_now(parts)
    detour.close()

    for number in range(10):
        write(parts, "DELETE", f"{PODS}/p-{number}?gracePeriodSeconds=0")
    write(parts, "POST", PODS, pod("new"))
    compact(parts, version_now(parts))
    # What the API server itself still remembers is lost with it.
    parts.restart("kube-apiserver")
    with pytest.raises(ExpiredError):
        first_of_watch(parts, before)
    assert mirror.changes == []
    detour.open()

    try:
        mirror.until(lambda: len(mirror.pods()) == 11)
        assert mirror.pods().keys() == names_there(parts)
        assert len(mirror.changes) == 11
        assert len(mirror.full_lists) == 1
    finally:
        rig.close()


def test_connections_that_are_cut_again_and_again_lose_nothing(parts: ControlPlane, detour: Detour) -> None:
    rig = Rig(parts, by=detour)
    mirror = rig.start()

    for number in range(30):
        write(parts, "POST", PODS, pod(f"cut-{number}"))
        if number % 5 == 4:
            detour.close()
            detour.open()

    try:
        mirror.until(lambda: len(mirror.pods()) == 30)
        assert len(mirror.changes) == 30
        assert len(mirror.full_lists) == 1
    finally:
        rig.close()


def test_a_restart_of_etcd_loses_nothing(parts: ControlPlane, rig: Rig) -> None:
    make_pods(rig, 20)
    mirror = rig.start()

    parts.restart("etcd")
    deadline = time.monotonic() + 30
    while parts.request("POST", PODS, pod("new"))[0] != 201:
        assert time.monotonic() < deadline
        time.sleep(0.2)

    mirror.until(lambda: "new" in mirror.pods())
    assert mirror.pods().keys() == names_there(parts)
    assert len(mirror.full_lists) == 1


def test_an_api_server_that_stands_still_is_noticed_and_does_not_hold_up_the_end(parts: ControlPlane) -> None:
    rig = Rig(parts, replace(PACE, idle=0.5))
    rig.start()
    parts.pause_part("kube-apiserver")
    try:
        time.sleep(1.5)
        begun = time.monotonic()
        rig.close()
        assert time.monotonic() - begun < 2
        assert [message for message, _ in rig.log] != []
    finally:
        parts.resume_part("kube-apiserver")


def test_a_resource_that_is_defined_later_is_picked_up_and_lost_with_its_definition(
    parts: ControlPlane, rig: Rig
) -> None:
    mirror = rig.start()
    ref = {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"}
    requirement = {"key": "kubernetes.io/arch", "operator": "In", "values": ["amd64"]}
    pool = {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        "metadata": {"name": "default"},
        "spec": {"template": {"spec": {"nodeClassRef": ref, "requirements": [requirement]}}},
    }

    write(parts, "POST", CRDS, yaml.safe_load(POOLS_CRD.read_text()))
    deadline = time.monotonic() + 30
    while parts.request("POST", NODE_POOL.path(), pool)[0] != 201:
        assert time.monotonic() < deadline
        time.sleep(0.1)
    mirror.until(lambda: (Kind.NODE_POOL, "default") in mirror.holds)

    write(parts, "DELETE", f"{CRDS}/nodepools.karpenter.sh")
    mirror.until(lambda: (Kind.NODE_POOL, "default") not in mirror.holds)
    assert len(mirror.full_lists) == 1


def test_nodes_and_claims_are_read_from_the_store(parts: ControlPlane, rig: Rig) -> None:
    for name in ("n-1", "n-0"):
        write(parts, "POST", NODES, {"metadata": {"name": name}})
        spec = {
            "attacher": "ebs.csi.aws.com",
            "nodeName": name,
            "source": {"persistentVolumeName": f"pv-{name}"},
        }
        write(parts, "POST", VOLUME_ATTACHMENT.path(), {"metadata": {"name": name}, "spec": spec})

    assert rig.reader.attached_volumes("n-0") == {"pv-n-0"}
    assert [node.name for node in rig.reader.list_nodes()] == ["n-0", "n-1"]
    with pytest.raises(UnavailableError, match="are not served"):
        rig.reader.list_claims()
    for name in ("n-1", "n-0"):
        write(parts, "DELETE", f"{NODES}/{name}")
        write(parts, "DELETE", VOLUME_ATTACHMENT.path(name))


def test_two_thousand_pods_are_read_and_share_their_spec(parts: ControlPlane, rig: Rig) -> None:
    make_pods(rig, 2_000)

    mirror = rig.start()

    assert mirror.pods().keys() == names_there(parts)
    assert len({id(p.spec) for p in mirror.pods().values()}) == 1
