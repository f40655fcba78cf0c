"""The older and younger walkthroughs than 001, laid out for the laboratory's cluster."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Final

import yaml

from tests.real.lab.lab import Lab
from tests.real.parts.control_plane import ControlPlane
from tests.real.parts.jaeger import Jaeger
from tests.real.parts.loopback import free_ports
from tests.real.system.cluster import ROOT
from tests.real.system.controller import eventually
from tests.real.system.scene import Scene, machines

EKSCTL: Final = "alpha.eksctl.io/cluster-name"
SETTINGS: Final = "/api/v1/namespaces/kube-system/configmaps"
_BETA: Final = {
    ("karpenter.sh/v1beta1", "NodePool"): "/apis/karpenter.sh/v1beta1/nodepools",
    ("karpenter.k8s.aws/v1beta1", "EC2NodeClass"): "/apis/karpenter.k8s.aws/v1beta1/ec2nodeclasses",
}
_DAEMON_SETS: Final = "/apis/apps/v1/namespaces/default/daemonsets"


def objects(lab: Lab, name: str) -> list[dict[str, Any]]:
    """Return a walkthrough's objects, with the laboratory's names in place of the walkthrough's."""
    text = (ROOT / "examples" / f"{name}.yaml").read_text()
    for written, ours in (
        (f"{EKSCTL}: demo", f"{EKSCTL}: {lab.cluster}"),
        ("kubernetes.io/cluster/demo", f"kubernetes.io/cluster/{lab.cluster}"),
        ("karpenter.sh/discovery: karpenter-demo", f"karpenter.sh/discovery: {lab.cluster}"),
        ("KarpenterNodeRole-karpenter-demo", f"KarpenterNodeRole-{lab.cluster}"),
        ("KarpenterNodeRole-demo", f"KarpenterNodeRole-{lab.cluster}"),
    ):
        text = text.replace(written, ours)
    return [thing for thing in yaml.safe_load_all(text) if thing]


def tag_as_eksctl_does(lab: Lab) -> None:
    """Give subnets and security groups the tag by which these walkthroughs find them."""
    found = [*lab.estate["subnets"].values(), *lab.estate["security_groups"]]
    lab.client("ec2").create_tags(Resources=found, Tags=[{"Key": EKSCTL, "Value": lab.cluster}])


@contextmanager
def beta_scene(plane: ControlPlane, lab: Lab, jaeger: Jaeger | None = None) -> Iterator[Scene]:
    """A cluster whose controller converts what comes in v1beta1, with the machines it buys."""
    [port] = free_ports(1)
    own = {
        "DISABLE_WEBHOOK": "false",
        "WEBHOOK_PORT": str(port),
        "WEBHOOK_URL": f"https://127.0.0.1:{port}",
    }
    there = Scene(plane, lab, jaeger, **own)
    there.cluster.install()
    tag_as_eksctl_does(lab)
    with there.controller, machines(there, boot_seconds=1):
        yield there
        # Definitions that were just told of the webhook are not served for a moment.
        there.cluster.install()


def spot_walkthrough(lab: Lab) -> list[dict[str, Any]]:
    """Return 002, with images that there are for the control plane's Kubernetes: AL2 ended with 1.32."""
    things = objects(lab, "002-spot")
    node_class = next(thing for thing in things if thing["kind"] == "EC2NodeClass")
    assert node_class["spec"]["amiFamily"] == "AL2"
    node_class["spec"]["amiFamily"] = "AL2023"
    return things


def apply_beta(scene: Scene, things: Iterable[dict[str, Any]]) -> None:
    """Create objects, those of v1beta1 as such, when the API server can have them converted."""
    for thing in things:
        path = _BETA.get((thing["apiVersion"], thing["kind"]))
        if path is None:
            scene.cluster.apply(thing)
        else:
            eventually(lambda path=path, thing=thing: _created(scene, path, thing), scene.summary)  # type: ignore[misc]


def _created(scene: Scene, path: str, thing: dict[str, Any]) -> bool:
    status, answer = scene.cluster.plane.request("POST", path, thing)
    assert status in (201, 429, 500), answer  # not yet: definitions are told of the webhook
    return status == 201


def read_beta(scene: Scene, kind: str, name: str) -> dict[str, Any]:
    """Return an object as v1beta1 has it."""
    path = next(path for (_, there), path in _BETA.items() if there == kind)
    status, answer = scene.cluster.plane.request("GET", f"{path}/{name}")
    assert status == 200, answer
    return dict(answer)


def global_settings(**data: str) -> dict[str, Any]:
    """Return the ConfigMap that Karpenter's old charts make of settings.aws.*."""
    meta = {"name": "karpenter-global-settings", "namespace": "kube-system"}
    written = {f"aws.{key}": value for key, value in data.items()}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": written}


def eks_daemons() -> dict[str, dict[str, Any]]:
    """Return DaemonSets that take of every node what an EKS cluster's do: 155m CPU, 120Mi and four pods."""
    requests: tuple[tuple[str, dict[str, str]], ...] = (
        ("aws-node", {"cpu": "25m"}),
        ("kube-proxy", {"cpu": "100m"}),
        ("ebs-csi-node", {"cpu": "30m", "memory": "120Mi"}),
        ("agent", {}),
    )
    return {name: _daemon_set(name, wants) for name, wants in requests}


def _daemon_set(name: str, requests: dict[str, str]) -> dict[str, Any]:
    marks = {"app": name}
    container = {"name": "app", "image": "pause", "resources": {"requests": requests}}
    spec = {"containers": [container], "tolerations": [{"operator": "Exists"}]}
    return {
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {"name": name},
        "spec": {
            "selector": {"matchLabels": marks},
            "template": {"metadata": {"labels": marks}, "spec": spec},
        },
    }


def daemon_set_path(name: str = "") -> str:
    """Return where DaemonSets are, or one of them."""
    return f"{_DAEMON_SETS}/{name}" if name else _DAEMON_SETS
