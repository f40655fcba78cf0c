"""What a user of the cluster does and sees."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any, Final

import yaml

from tests.real.parts.control_plane import ControlPlane
from tests.real.parts.objects import MERGE, says
from tests.real.system.controller import eventually

ROOT: Final = Path(__file__).parents[3]
CRDS: Final = ROOT / "deploy" / "crds"
_CRD_PATH: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
PATHS: Final = {
    ("v1", "Namespace"): "/api/v1/namespaces",
    ("v1", "Pod"): "/api/v1/namespaces/default/pods",
    ("v1", "Node"): "/api/v1/nodes",
    ("apps/v1", "Deployment"): "/apis/apps/v1/namespaces/default/deployments",
    ("policy/v1", "PodDisruptionBudget"): "/apis/policy/v1/namespaces/default/poddisruptionbudgets",
    ("karpenter.sh/v1", "NodePool"): "/apis/karpenter.sh/v1/nodepools",
    ("karpenter.sh/v1", "NodeClaim"): "/apis/karpenter.sh/v1/nodeclaims",
    ("karpenter.sh/v1alpha1", "NodeOverlay"): "/apis/karpenter.sh/v1alpha1/nodeoverlays",
    ("karpenter.sh/v1alpha5", "Provisioner"): "/apis/karpenter.sh/v1alpha5/provisioners",
    ("karpenter.sh/v1alpha5", "Machine"): "/apis/karpenter.sh/v1alpha5/machines",
    ("karpenter.k8s.aws/v1", "EC2NodeClass"): "/apis/karpenter.k8s.aws/v1/ec2nodeclasses",
    ("karpenter.k8s.aws/v1alpha1", "AWSNodeTemplate"): "/apis/karpenter.k8s.aws/v1alpha1/awsnodetemplates",
    ("karpenter.kwok.sh/v1alpha1", "KWOKNodeClass"): "/apis/karpenter.kwok.sh/v1alpha1/kwoknodeclasses",
}
_OURS: Final = tuple(path for (version, _), path in PATHS.items() if version.startswith("karpenter"))


class Cluster:
    """A control plane with our kinds, seen as its users see it. All in namespace default."""

    def __init__(self, plane: ControlPlane) -> None:
        self.plane = plane

    def install(self) -> None:
        """Define our kinds, where they are not yet, wait until they are served, and clear up.

        A test that fails leaves its objects, and its second try begins here.
        """
        for definition in _definitions():
            status, answer = self.plane.request("POST", _CRD_PATH, definition)
            assert status in (201, 409), answer
        eventually(
            lambda: all(self.plane.request("GET", path)[0] == 200 for path in _OURS),
            "our kinds are not served",
        )
        self.clear()

    def apply(self, *manifests: str | Path | dict[str, Any]) -> None:
        """Create objects: YAML text, a file of it, or an object. One that is there is replaced."""
        for manifest in manifests:
            for thing in _objects(manifest):
                path = PATHS[thing["apiVersion"], thing["kind"]]
                status, answer = self.plane.request("POST", path, thing)
                if status == 409:
                    name = thing["metadata"]["name"]
                    _, there = self.plane.request("GET", f"{path}/{name}")
                    thing["metadata"]["resourceVersion"] = there["metadata"]["resourceVersion"]
                    status, answer = self.plane.request("PUT", f"{path}/{name}", thing)
                assert status in (200, 201), answer

    def all(self, api_version: str, kind: str) -> list[dict[str, Any]]:
        """Return all objects of a kind, sorted by name."""
        status, answer = self.plane.request("GET", PATHS[api_version, kind])
        assert status == 200, answer
        return sorted(answer["items"], key=lambda thing: thing["metadata"]["name"])

    def pods(self) -> list[dict[str, Any]]:
        return self.all("v1", "Pod")

    def nodes(self) -> list[dict[str, Any]]:
        return self.all("v1", "Node")

    def claims(self) -> list[dict[str, Any]]:
        """Return NodeClaims and Machines."""
        return [*self.all("karpenter.sh/v1", "NodeClaim"), *self.all("karpenter.sh/v1alpha5", "Machine")]

    def running(self) -> int:
        """Return how many pods are running, ready and not about to end."""
        return sum(_runs(pod) for pod in self.pods())

    def bound(self) -> int:
        """Return how many pods have a node."""
        return sum(bool(pod["spec"].get("nodeName")) for pod in self.pods())

    def scale(self, name: str, replicas: int) -> None:
        path = f"{PATHS['apps/v1', 'Deployment']}/{name}"
        status, answer = self.plane.request(
            "PATCH", path, {"spec": {"replicas": replicas}}, content_type=MERGE
        )
        assert status == 200, answer

    def delete(self, api_version: str, kind: str, name: str, *, cascade: str = "background") -> None:
        """Delete an object, as kubectl does with --cascade."""
        options = {"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": cascade.capitalize()}
        status, answer = self.plane.request("DELETE", f"{PATHS[api_version, kind]}/{name}", options)
        assert status in (200, 202, 404), answer

    def events(self, about: str) -> list[tuple[str, str]]:
        """Return (reason, message) of the events about objects of that name."""
        _, answer = self.plane.request("GET", "/api/v1/events")
        return [(e["reason"], e["message"]) for e in answer["items"] if e["involvedObject"]["name"] == about]

    def clear(self) -> None:
        """Delete workloads, pools, claims and nodes, finalizers or not: for the next test."""
        for key in (("apps/v1", "Deployment"), ("policy/v1", "PodDisruptionBudget")):
            for thing in self.all(*key):
                self.delete(*key, thing["metadata"]["name"])
        force = {"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0}
        eventually(lambda: self._clear_pods(force), "pods are left")
        for path in (*_OURS, PATHS["v1", "Node"]):
            eventually(lambda path=path: self._cleared(path), f"{path} are left")  # type: ignore[misc]

    def _clear_pods(self, force: dict[str, Any]) -> bool:
        pods = self.pods()
        for pod in pods:
            self.plane.request("DELETE", f"{PATHS['v1', 'Pod']}/{pod['metadata']['name']}", force)
        return not pods

    def _cleared(self, path: str) -> bool:
        there = self.plane.request("GET", path)[1]["items"]
        for thing in there:
            where = f"{path}/{thing['metadata']['name']}"
            if thing["metadata"].get("finalizers"):
                free = {"metadata": {"finalizers": None}}
                self.plane.request("PATCH", where, free, content_type=MERGE)
            self.plane.request("DELETE", where)
        return not there

    def summary(self) -> str:
        """Return in a line or two how things stand."""
        pods = self.pods()
        pending = [p["metadata"]["name"] for p in pods if not p["spec"].get("nodeName")]
        nodes = [_leaving(node) for node in self.nodes()]
        claims = [_leaving(claim) for claim in self.claims()]
        unready = [_unready(pod) for pod in pods if pod["spec"].get("nodeName") and not _runs(pod)]
        stand = f"{len(pods)} pods, {self.running()} running, pending {pending[:5]}, not ready {unready[:5]}"
        return f"{stand}; nodes {nodes}; claims {claims}"


@cache
def _definitions() -> tuple[dict[str, Any], ...]:
    texts = (file.read_text() for file in sorted(CRDS.glob("*.yaml")))
    return tuple(one for text in texts for one in yaml.load_all(text, Loader=yaml.CSafeLoader))


def _objects(manifest: str | Path | dict[str, Any]) -> list[dict[str, Any]]:
    if isinstance(manifest, dict):
        return [manifest]
    text = manifest.read_text() if isinstance(manifest, Path) else manifest
    return [thing for thing in yaml.safe_load_all(text) if thing]


def _runs(pod: dict[str, Any]) -> bool:
    return (
        says(pod, "Ready")
        and pod["status"]["phase"] == "Running"
        and not pod["metadata"].get("deletionTimestamp")
    )


def _leaving(thing: dict[str, Any]) -> str:
    """Return the name of a node or claim, with what says that it is to go."""
    taints = [taint["key"] for taint in thing["spec"].get("taints", ())]
    cordoned = ["cordoned"] if thing["spec"].get("unschedulable") else []
    deleted = ["being deleted"] if thing["metadata"].get("deletionTimestamp") else []
    return " ".join((thing["metadata"]["name"], *taints, *cordoned, *deleted))


def _unready(pod: dict[str, Any]) -> str:
    """Return how a pod that has a node stands, with what its conditions say that is not so."""
    lacking = [
        f"{c['type']}={c['status']} since {c.get('lastTransitionTime')} {c.get('reason', '')}".rstrip()
        for c in pod["status"].get("conditions", ())
        if c["status"] != "True"
    ]
    leaving = ["being deleted"] if pod["metadata"].get("deletionTimestamp") else []
    return ", ".join([f"{pod['metadata']['name']} {pod['status']['phase']}", *leaving, *lacking])
