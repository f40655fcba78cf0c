"""Full lists of a real API server, in a stream and in pages, while its watches go on."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Any, Final

import pytest

from tests.real.kubernetes.proxy import Proxy
from tests.real.parts.binaries import NotBuiltError
from tests.real.parts.control_plane import PARTS, ControlPlane
from tests.real.parts.objects import MERGE
from tests.real.system.controller import eventually
from treenail.adapters.kubernetes.connection import Connection
from treenail.adapters.kubernetes.pace import Pace
from treenail.adapters.kubernetes.reader import KubernetesReader
from treenail.domain.cluster.cluster_facts import ClusterFact, ObjectGone, ObjectSeen, Resynced, key_of
from treenail.domain.model.pods import Pod

PODS: Final = "/api/v1/namespaces/default/pods"
COUNT: Final = 120
# All is read anew without a pause, in several pages.
PACE: Final = Pace(relist=(0.01, 0.01), look_again=(60.0, 60.0), first_pause=0.1, page=25)


class Believer:
    """Believes what it is told of pods, and notes where that goes backwards."""

    def __init__(self) -> None:
        self.pods: dict[str, Pod] = {}
        self.backwards: list[str] = []
        self.began = False
        self._gone: set[str] = set()

    def tell(self, fact: ClusterFact, /) -> None:
        match fact:
            case Resynced():
                self.pods = {key_of(thing): thing for thing in fact.objects if isinstance(thing, Pod)}
                self.began = True
            case ObjectSeen(object=Pod() as pod):
                known = self.pods.get(pod.uid)
                if pod.uid in self._gone or (known and pod.resource_version <= known.resource_version):
                    self.backwards.append(pod.name)
                self.pods[pod.uid] = pod
            case ObjectGone(key=key):
                self.pods.pop(key, None)
                self._gone.add(key)
            case _:
                pass

    def stamps(self) -> dict[str, str]:
        return {pod.uid: pod.labels.get("stamp", "") for pod in list(self.pods.values())}


@pytest.fixture(params=["streamed", "in pages"])
def plane(request: pytest.FixtureRequest) -> Iterator[ControlPlane]:
    gates = () if request.param == "streamed" else ("--feature-gates=WatchList=false",)
    try:
        plane = ControlPlane(without=PARTS[2:], args={"kube-apiserver": gates})
    except NotBuiltError as error:
        pytest.skip(str(error))
    with plane:
        yield plane


def there(plane: ControlPlane) -> dict[str, str]:
    items = plane.request("GET", PODS)[1]["items"]
    return {i["metadata"]["uid"]: i["metadata"].get("labels", {}).get("stamp", "") for i in items}


def pod(name: str) -> dict[str, Any]:
    return {"metadata": {"name": name}, "spec": {"containers": [{"name": "c", "image": "pause"}]}}


def test_changes_are_told_while_all_is_read_anew_again_and_again(
    plane: ControlPlane, request: pytest.FixtureRequest
) -> None:
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda n: plane.request("POST", PODS, pod(f"p-{n}")), range(COUNT)))
    believer, defects = Believer(), list[BaseException]()
    with (
        Proxy(plane, plane.folder) as proxy,
        closing(Connection.open(kubeconfig=proxy.kubeconfig, qps=100, burst=100)) as connection,
    ):
        reader = KubernetesReader(
            connection,
            congested=lambda: False,
            failed=defects.append,
            log=lambda _message, /, **_fields: None,
            pace=PACE,
        )
        reader.feed(believer)
        try:
            eventually(lambda: believer.began, "nothing is told")
            for n in range(0, COUNT, 3):
                plane.request("PATCH", f"{PODS}/p-{n}", {"metadata": {"labels": {"stamp": str(n)}}}, MERGE)
                plane.request("DELETE", f"{PODS}/p-{n + 1}?gracePeriodSeconds=0")
                plane.request("POST", PODS, pod(f"new-{n}"))
            eventually(lambda: believer.stamps() == there(plane), "not all is told")
        finally:
            reader.stop()
        asked = [a for a in proxy.asked() if a.path == "/api/v1/pods"]

    assert defects == []
    assert believer.backwards == []
    streamed = sum("sendInitialEvents" in a.target for a in asked)
    paged = sum(a.is_list for a in asked) - streamed
    assert sum(a.is_watch for a in asked) == 1
    if "pages" in request.node.name:
        assert paged > 1
    else:
        assert (paged, streamed > 1) == (0, True)
