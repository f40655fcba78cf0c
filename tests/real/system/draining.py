"""Many nodes that go at once, each in its own way, and what the controller did with their pods."""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final, assert_never

from tests.real.kubernetes.faults import Asked
from tests.real.kubernetes.proxy import Proxy
from tests.real.parts.control_plane import ControlPlane
from tests.real.parts.objects import MERGE, STRATEGIC, says
from tests.real.system import drain_manifests as manifests
from tests.real.system.controller import eventually
from tests.real.system.drain_cases import ROOMY, By, Call, Case, Given
from tests.real.system.scene import Scene

_PODS: Final = "/api/v1/namespaces/default/pods"
_CLAIMS: Final = "/apis/karpenter.sh/v1/nodeclaims"
_POOLS: Final = "/apis/karpenter.sh/v1/nodepools"
_NODES: Final = "/api/v1/nodes"
_BUDGETS: Final = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
_ATTACHED: Final = "/apis/storage.k8s.io/v1/volumeattachments"
_CLEARED: Final = (
    "/apis/apps/v1/namespaces/default/daemonsets",
    _ATTACHED,
    "/api/v1/namespaces/default/persistentvolumeclaims",
    "/api/v1/persistentvolumes",
)
_ONCE: Final = {"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0}
_WARNED: Final = timedelta(minutes=2)
_WITHIN: Final = 150.0
# What is to stay is looked at after so long: later than any other case has an end.
_STAYS_SECONDS: Final = 25.0
_CALLS: Final = (
    ("POST", re.compile(r"/pods/([^/]+)/eviction$"), "evict"),
    ("DELETE", re.compile(r"/pods/([^/]+)$"), "delete"),
    ("PATCH", re.compile(r"/nodeclaims/([^/]+)$"), "free"),
)


class Recorder(Proxy):
    """A way to the API server that takes note of what is done to pods, and of claims that are let go."""

    def __init__(self, plane: ControlPlane, folder: Path) -> None:
        super().__init__(plane, folder)
        self.calls: list[tuple[float, str]] = []

    async def _halt(self, near: asyncio.StreamWriter, asked: Asked, body: bytes, *, done: bool) -> None:
        del near
        for method, path, verb in _CALLS:
            found = path.search(asked.path) if asked.method == method and not done else None
            if found is None or (verb == "free" and b'"finalizers"' not in body):
                continue
            grace = f" {json.loads(body)['gracePeriodSeconds']}" if verb == "delete" else ""
            self.calls.append((asked.at, f"{verb} {found[1]}{grace}"))


class Draining:
    """The nodes of all cases in one cluster. `begin` has all go; `finish` waits for what comes of it."""

    def __init__(self, scene: Scene, recorder: Recorder, cases: Mapping[str, Case]) -> None:
        self._scene = scene
        self._recorder = recorder
        self._cases = dict(enumerate(cases.values()))
        self._numbers = {name: number for number, name in enumerate(cases)}
        self._began: dict[int, float] = {}
        self._claims: dict[int, str] = {}
        self._nodes: dict[int, dict[str, Any]] = {}
        self.left: dict[str, tuple[str, ...]] = {}

    def set_up(self) -> None:
        """Have a node for every case, with its pods, and no room for more."""
        cluster = self._scene.cluster
        cluster.apply(manifests.node_class(self._scene.lab), *manifests.node_pools())
        cluster.apply(*(manifests.seed(number, case.pool) for number, case in self._cases.items()))
        eventually(self._all_there, self._scene.summary, within=_WITHIN)
        self._find_nodes()
        for pool in {case.pool for case in self._cases.values()} - {ROOMY}:
            self._patch(f"{_POOLS}/{pool}", {"spec": {"limits": {"cpu": "1"}}})
        self._create_volumes()
        for number, case in self._cases.items():
            self._create_case(number, case)
        eventually(self._all_run, self._scene.summary, within=_WITHIN)
        for number, case in self._cases.items():
            self._request("DELETE", f"{_PODS}/seed-{number:02}", _ONCE)
            for name, given in case.pods.items():
                self._alter(f"{name}-{number:02}", given)

    def _all_there(self) -> bool:
        claims = self._scene.cluster.claims()
        done = [c for c in claims if says(c, "Initialized")]
        return len(done) == len(claims) == len(self._cases) == self._scene.cluster.running()

    def _find_nodes(self) -> None:
        numbers = {f"c{number:02}": number for number in self._cases}
        for node in self._scene.cluster.nodes():
            self._nodes[numbers[node["metadata"]["labels"][manifests.CASE]]] = node
        named = {node["metadata"]["name"]: number for number, node in self._nodes.items()}
        for claim in self._scene.cluster.claims():
            self._claims[named[claim["status"]["nodeName"]]] = claim["metadata"]["name"]

    def _create_volumes(self) -> None:
        """Have the volumes bound before pods ask for them: the scheduler may overlook that for minutes."""
        for number, case in self._cases.items():
            if any(given.volume for given in case.pods.values()):
                for thing in manifests.volume(number, self._nodes[number]["metadata"]["name"]):
                    self._create(_path_of(thing["kind"]), thing)
        eventually(self._all_bound, self._scene.summary, within=_WITHIN)

    def _all_bound(self) -> bool:
        status, answer = self._scene.cluster.plane.request("GET", _path_of("PersistentVolumeClaim"))
        return status == 200 and all(c.get("status", {}).get("phase") == "Bound" for c in answer["items"])

    def _create_case(self, number: int, case: Case) -> None:
        node = self._nodes[number]
        for index, spec in enumerate(case.budgets):
            self._create(_BUDGETS, manifests.budget(number, index, spec))
        for name, given in case.pods.items():
            thing = manifests.pod(name, given, number, case.pool, node)
            self._create(_path_of(thing["kind"]), thing)

    def _all_run(self) -> bool:
        wanted = len(self._cases) + sum(len(case.pods) for case in self._cases.values())
        return self._scene.cluster.running() == wanted

    def _alter(self, name: str, given: Given) -> None:
        """Have a pod be over, or not be ready."""
        status: dict[str, Any] = {"phase": given.phase} if given.phase else {}
        if not given.ready:
            status = {"conditions": [{"type": "Ready", "status": "False"}]}
        if status:
            self._request("PATCH", f"{_PODS}/{name}/status", {"status": status}, STRATEGIC)

    def begin(self) -> None:
        """Have all nodes go."""
        for number, case in self._cases.items():
            self._began[number] = time.monotonic()
            name = self._nodes[number]["metadata"]["name"]
            instance = self._nodes[number]["spec"]["providerID"].rpartition("/")[2]
            match case.by:
                case By.CLAIM:
                    self._request("DELETE", f"{_CLAIMS}/{self._claims[number]}")
                case By.NODE:
                    self._request("DELETE", f"{_NODES}/{name}")
                case By.WARNING:
                    self._warn(instance, case.notice)
                case By.STOPPING:
                    self._scene.lab.state_change(instance, "stopping")
                case _:
                    assert_never(case.by)

    def _warn(self, instance: str, seconds: float) -> None:
        """Announce the end of an instance in so many seconds: sent when that was two minutes off."""
        event = {
            "version": "0",
            "source": "aws.ec2",
            "detail-type": "EC2 Spot Instance Interruption Warning",
            "time": (datetime.now(UTC) + timedelta(seconds=seconds) - _WARNED).isoformat(),
            "detail": {"instance-id": instance, "instance-action": "terminate"},
        }
        lab = self._scene.lab
        lab.client("sqs").send_message(QueueUrl=lab.estate["queue_url"], MessageBody=json.dumps(event))

    def finish(self) -> None:
        """Wait until all that are to go are gone, and the others have had their time."""
        begun, acted = time.monotonic(), dict[int, None]()

        def over() -> bool:
            seconds = time.monotonic() - begun
            for number, case in self._cases.items():
                self._act(number, case, acted)
            there = {claim["metadata"]["name"] for claim in self._scene.cluster.claims()}
            going = {self._claims[n] for n, case in self._cases.items() if case.gone is not None}
            return seconds > _STAYS_SECONDS and not there & going

        eventually(over, self._scene.summary, within=_WITHIN)
        pods = [pod["metadata"]["name"] for pod in self._scene.cluster.pods()]
        for name, number in self._numbers.items():
            case = self._cases[number]
            self.left[name] = tuple(sorted(p for p in case.pods if f"{p}-{number:02}" in pods))

    def _act(self, number: int, case: Case, acted: dict[int, None]) -> None:
        """Let go what holds a case up, in its time."""
        at = case.freed if case.freed is not None else case.detached
        if at is None or number in acted or time.monotonic() - self._began[number] < at:
            return
        acted[number] = None
        if case.freed is not None:
            self._patch(f"{_BUDGETS}/web-{number:02}-0", {"spec": {"minAvailable": 0}})
        else:
            self._request("DELETE", f"{_ATTACHED}/csi-{number:02}")

    # --- what was done

    def calls(self, name: str) -> list[Call]:
        """Return the first call of each kind about the pods and the claim of a case, in order."""
        number = self._numbers[name]
        first: dict[tuple[str, str], Call] = {}
        for at, text in self._recorder.calls:
            verb, about, *grace = text.split()
            pod, _, rest = about.partition("-")
            of_pod = verb != "free" and rest.partition("-")[0] == f"{number:02}" and pod != "seed"
            if of_pod or about == self._claims[number]:
                call = Call.parse(
                    at - self._began[number], " ".join((verb, *((pod, *grace) if of_pod else ())))
                )
                first.setdefault(call.about, call)
        return list(first.values())

    def clear(self) -> None:
        """Take away what other tests do not know of."""
        for path in _CLEARED:
            self._request("DELETE", path)

    def _create(self, path: str, thing: dict[str, Any]) -> None:
        status, answer = self._scene.cluster.plane.request("POST", path, thing)
        assert status == 201, answer

    def _patch(self, path: str, change: dict[str, Any]) -> None:
        self._request("PATCH", path, change, MERGE)

    def _request(
        self, method: str, path: str, body: object = None, content_type: str = "application/json"
    ) -> None:
        status, answer = self._scene.cluster.plane.request(method, path, body, content_type)
        assert status in (200, 202), answer


def _path_of(kind: str) -> str:
    match kind:
        case "Pod":
            return _PODS
        case "PersistentVolume":
            return "/api/v1/persistentvolumes"
        case "VolumeAttachment":
            return _ATTACHED
        case "PersistentVolumeClaim":
            return "/api/v1/namespaces/default/persistentvolumeclaims"
        case _:
            return f"/apis/apps/v1/namespaces/default/{kind.lower()}s"
