"""What ResourceQuotas and LimitRanges make of new pods, in rehearsals and on a real API server."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

import pytest

from tests.adapters.fake.cluster.rig import Rig
from tests.real.parts.control_plane import ControlPlane
from tests.real.parts.objects import MERGE
from treenail.adapters.api.manifests import decode_all, parse_manifests
from treenail.adapters.api.written.parts import Tree
from treenail.domain.model.errors import InvalidError
from treenail.domain.model.pods import Pod
from treenail.domain.model.resource_quotas import ResourceQuota, shown
from treenail.domain.model.resources import amount_of

PATHS: Final = {"Pod": "pods", "ResourceQuota": "resourcequotas", "LimitRange": "limitranges"}
# A real API server goes for half a minute by what it looked up of a namespace, though that is gone.
_PATIENCE: Final = 45.0
Asked = Mapping[str, Mapping[str, str]]


class Server(Protocol):
    """An API server with the default namespace. All objects are Pods, ResourceQuotas and LimitRanges."""

    def make(self, tree: Tree, *, dry: bool = False) -> str:
        """Create an object; return why it is refused, "" where it is made."""
        ...

    def used(self) -> Mapping[str, str]:
        """Return what the status of the only quota says is used."""
        ...

    def asks(self, tree: Tree) -> Asked:
        """Return requests and limits of the only container of a pod, as admission leaves them."""
        ...

    @property
    def slow(self) -> bool:
        """Whether its admission may see new rules a little later."""
        ...


@dataclass
class FakeServer:
    rig: Rig = field(default_factory=Rig)
    slow: bool = False

    def make(self, tree: Tree, *, dry: bool = False) -> str:
        del dry
        (manifest,) = parse_manifests(json.dumps(tree).encode(), "test")
        try:
            self.rig.cluster.apply(*decode_all([manifest], keep_parts=True).objects())
        except InvalidError as error:
            return str(error)
        return ""

    def used(self) -> Mapping[str, str]:
        (quota,) = self.rig.cluster.objects(ResourceQuota)
        return {name: shown(name, amount) for name, amount in sorted(quota.used.items())}

    def asks(self, tree: Tree) -> Asked:
        assert self.make(tree) == ""
        pod = self.rig.cluster.get("Pod", tree["metadata"]["name"])
        assert isinstance(pod, Pod)
        requests = {n: a for n, a in pod.spec.requests.format().items() if n != "pods"}
        return {"requests": requests, "limits": pod.spec.limits.format()}


@dataclass
class RealServer:
    server: ControlPlane
    slow: bool = True

    def make(self, tree: Tree, *, dry: bool = False) -> str:
        path = f"/api/v1/namespaces/default/{PATHS[tree['kind']]}"
        code, answer = self.server.request("POST", f"{path}?dryRun=All" if dry else path, tree)
        if code == 201 and tree["kind"] == "ResourceQuota":
            hard = tree["spec"]["hard"]
            self._let_count(f"{path}/{tree['metadata']['name']}", hard)
        return "" if code == 201 else str(answer["message"])

    def _let_count(self, path: str, hard: Mapping[str, str]) -> None:
        """Begin the status of a quota, as the controller that does not run here does."""
        body = {"status": {"hard": dict(hard), "used": dict.fromkeys(hard, "0")}}
        assert self.server.request("PATCH", f"{path}/status", body, MERGE)[0] == 200

    def used(self) -> Mapping[str, str]:
        _, answer = self.server.request("GET", "/api/v1/namespaces/default/resourcequotas")
        (quota,) = answer["items"]
        return dict(sorted(quota["status"]["used"].items()))

    def asks(self, tree: Tree) -> Asked:
        _, answer = self.server.request("POST", "/api/v1/namespaces/default/pods?dryRun=All", tree)
        found = answer["spec"]["containers"][0]["resources"]
        return {"requests": found.get("requests", {}), "limits": found.get("limits", {})}

    def clear(self) -> None:
        for plural in PATHS.values():
            path = f"/api/v1/namespaces/default/{plural}"
            for thing in self.server.request("GET", path)[1]["items"]:
                self.server.request("DELETE", f"{path}/{thing['metadata']['name']}?gracePeriodSeconds=0")


@pytest.fixture(params=["fake", "real"])
def server(request: pytest.FixtureRequest) -> Iterator[Server]:
    if request.param == "fake":
        yield FakeServer()
        return
    real = RealServer(request.getfixturevalue("empty_server"))
    real.clear()
    yield real
    real.clear()


def eventually(server: Server, check: Any) -> None:
    """Check, as long as it fails at a server that sees new rules late."""
    until = time.monotonic() + _PATIENCE
    while True:
        try:
            check()
        except AssertionError:
            if not server.slow or time.monotonic() > until:
                raise
            time.sleep(0.02)
        else:
            return


def a_pod(resources: Mapping[str, Mapping[str, str]], **more: Any) -> Tree:
    container = {"name": "c", "image": "x", "resources": {k: dict(v) for k, v in resources.items()}}
    # No service account is made here, and no class of priority.
    spec = {"containers": [container], "automountServiceAccountToken": False, **more}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "namespace": "default"},
        "spec": spec,
    }


def a_range(kind: str, **bounds: Mapping[str, str]) -> Tree:
    spec = {"limits": [{"type": kind, **bounds}]}
    return _named("LimitRange", spec)


def a_quota(hard: Mapping[str, str], name: str = "small", **scopes: Any) -> Tree:
    return _named("ResourceQuota", {"hard": dict(hard), **scopes}, name)


def _named(kind: str, spec: Mapping[str, Any], name: str = "small") -> Tree:
    return {
        "apiVersion": "v1",
        "kind": kind,
        "metadata": {"name": name, "namespace": "default"},
        "spec": dict(spec),
    }


CPU_1: Final = {"cpu": "1"}
CPU_2: Final = {"cpu": "2"}
GI_1: Final = {"memory": "1Gi"}
GI_2: Final = {"memory": "2Gi"}


@pytest.mark.parametrize(
    ("bounds", "resources", "asks"),
    [
        (
            a_range("Container", default=CPU_2, defaultRequest=CPU_1),
            {},
            {"requests": CPU_1, "limits": CPU_2},
        ),
        (a_range("Container", max=GI_2), {}, {"requests": GI_2, "limits": GI_2}),
        (
            a_range("Container", max=GI_2, min=GI_1),
            {"limits": GI_1},
            {"requests": GI_1, "limits": GI_1},
        ),
        (a_range("Container", min=GI_1), {}, {"requests": GI_1, "limits": {}}),
        (a_range("Container", default=CPU_1), {}, {"requests": CPU_1, "limits": CPU_1}),
        (
            a_range("Container", defaultRequest=CPU_1),
            {"limits": CPU_2},
            {"requests": CPU_2, "limits": CPU_2},
        ),
    ],
)
def test_a_limit_range_gives_defaults(server: Server, bounds: Tree, resources: Asked, asks: Asked) -> None:
    assert server.make(bounds) == ""

    def check() -> None:
        found = server.asks(a_pod(resources))
        assert {of: _amounts(found[of]) for of in found} == {of: _amounts(asks[of]) for of in asks}

    eventually(server, check)


@pytest.mark.parametrize(
    ("bounds", "resources", "problem"),
    [
        (
            a_range("Container", min=CPU_2),
            {"requests": CPU_1},
            "minimum cpu usage per Container is 2, but request is 1",
        ),
        (
            a_range("Container", max=CPU_1),
            {"limits": CPU_2},
            "maximum cpu usage per Container is 1, but limit is 2",
        ),
        (
            a_range("Container", maxLimitRequestRatio=CPU_2),
            {"requests": CPU_1, "limits": {"cpu": "3"}},
            "cpu max limit to request ratio per Container is 2, but provided ratio is 3.000000",
        ),
        (
            a_range("Container", maxLimitRequestRatio=CPU_2),
            {"requests": CPU_1},
            "cpu max limit to request ratio per Container is 2, but no limit is specified or limit is 0",
        ),
        (
            a_range("Pod", max=GI_1),
            {"limits": GI_2},
            "maximum memory usage per Pod is 1Gi, but limit is 2Gi",
        ),
        (
            a_range("Pod", max=GI_1),
            {"requests": GI_1},
            "maximum memory usage per Pod is 1Gi.  No limit is specified",
        ),
        (a_range("Pod", min=CPU_1), {}, "minimum cpu usage per Pod is 1.  No request is specified"),
        (
            a_range("Container", default=CPU_1),
            {"requests": CPU_2},
            "must be less than or equal to cpu limit of 1",
        ),
    ],
)
def test_pods_outside_a_limit_range_are_refused(
    server: Server, bounds: Tree, resources: Asked, problem: str
) -> None:
    assert server.make(bounds) == ""

    def check() -> None:
        assert problem in server.make(a_pod(resources), dry=True)

    eventually(server, check)


@pytest.mark.parametrize(
    ("hard", "resources", "problem"),
    [
        (
            {"requests.cpu": "1"},
            {"requests": CPU_2},
            "exceeded quota: small, requested: requests.cpu=2, used: requests.cpu=0, limited: requests.cpu=1",
        ),
        (
            {"memory": "1Gi", "pods": "0"},
            {"requests": GI_2},
            "exceeded quota: small, requested: memory=2Gi,pods=1, used: memory=0,pods=0, limited: memory=1Gi",
        ),
        (
            {"limits.cpu": "4", "memory": "4Gi"},
            {"requests": CPU_1},
            "failed quota: small: must specify limits.cpu for: c; memory for: c",
        ),
        ({"count/pods": "0"}, {}, "exceeded quota: small, requested: count/pods=1"),
        (
            {"requests.example.com/device": "1"},
            {
                "requests": {"example.com/device": "2"},
                "limits": {"example.com/device": "2"},
            },
            "exceeded quota: small, requested: requests.example.com/device=2",
        ),
    ],
)
def test_pods_beyond_a_quota_are_refused(
    server: Server, hard: Mapping[str, str], resources: Asked, problem: str
) -> None:
    assert server.make(a_quota(hard)) == ""

    def check() -> None:
        assert problem in server.make(a_pod(resources), dry=True)

    eventually(server, check)


def by_class(operator: str, *values: str) -> Mapping[str, Any]:
    term = {
        "scopeName": "PriorityClass",
        "operator": operator,
        **({"values": list(values)} if values else {}),
    }
    return {"scopeSelector": {"matchExpressions": [term]}}


@pytest.mark.parametrize(
    ("scopes", "pod", "counts"),
    [
        ({"scopes": ["BestEffort"]}, a_pod({}), True),
        ({"scopes": ["BestEffort"]}, a_pod({"requests": CPU_1}), False),
        ({"scopes": ["NotBestEffort"]}, a_pod({"limits": GI_1}), True),
        ({"scopes": ["Terminating"]}, a_pod({}, activeDeadlineSeconds=60), True),
        ({"scopes": ["Terminating"]}, a_pod({}), False),
        ({"scopes": ["NotTerminating"]}, a_pod({}), True),
        (by_class("In", "system-node-critical"), a_pod({}, priorityClassName="system-node-critical"), True),
        (by_class("In", "system-node-critical"), a_pod({}), False),
        (by_class("NotIn", "high"), a_pod({}), True),
        (by_class("DoesNotExist"), a_pod({}), True),
        (by_class("Exists"), a_pod({}, priorityClassName="system-node-critical"), True),
    ],
)
def test_a_scoped_quota_counts_the_pods_within_its_scopes(
    server: Server, scopes: Mapping[str, Any], pod: Tree, *, counts: bool
) -> None:
    assert server.make(a_quota({"pods": "0"}, **scopes)) == ""
    if not counts:
        # Admission sees quotas in order: it refuses by this one when it knows the other.
        assert server.make(a_quota({"count/pods": "0"}, name="witness")) == ""

    def check() -> None:
        refused_by = "small" if counts else "witness"
        assert f"exceeded quota: {refused_by}" in server.make(pod, dry=True)

    eventually(server, check)


def test_used_follows_the_pods_that_are_made(server: Server) -> None:
    assert server.make(a_quota({"requests.cpu": "2", "pods": "3"})) == ""
    eventually(server, lambda: _refused(server, a_pod({"requests": {"cpu": "3"}})))
    assert server.make(a_pod({"requests": CPU_1})) == ""

    assert server.used() == {"pods": "1", "requests.cpu": "1"}


def _refused(server: Server, pod: Tree) -> None:
    assert server.make(pod, dry=True)


def _amounts(written: Mapping[str, str]) -> Mapping[str, int]:
    return {name: amount_of(name, text) for name, text in written.items()}
