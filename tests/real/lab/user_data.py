"""What an instance's user data tells its kubelet, in the words of each image family.

Those are NodeConfig documents, calls of bootstrap.sh and Start-EKSBootstrap.ps1, and Bottlerocket's settings.
"""

from __future__ import annotations

import email
import re
import shlex
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Final

import yaml

from treenail.domain.model.node_classes import AmiFamily

_NODE_CONFIG: Final = "NodeConfig"
_BOOTSTRAP: Final = "/etc/eks/bootstrap.sh"
_WINDOWS_BOOTSTRAP: Final = "Start-EKSBootstrap.ps1"
_ARGUMENT: Final = re.compile(r"-(\w+) '((?:[^']|'')*)'")


@dataclass(frozen=True, slots=True)
class Taint:
    """A taint in the form of the API."""

    key: str
    effect: str
    value: str = ""

    @classmethod
    def parse(cls, text: str) -> Taint:
        """Read "key=value:effect" or "key:effect"."""
        mark, _, effect = text.rpartition(":")
        key, _, value = mark.partition("=")
        return cls(key, effect, value)

    def written(self) -> dict[str, str]:
        """Return the taint as a node has it."""
        said = {"key": self.key, "effect": self.effect}
        return {**said, "value": self.value} if self.value else said


@dataclass(slots=True)
class KubeletOrders:
    """What a kubelet is to do, and whose words say it. `max_pods` is None where nothing is said."""

    family: AmiFamily = AmiFamily.AL2023
    cluster: str = ""
    endpoint: str = ""
    labels: dict[str, str] = field(default_factory=dict)
    taints: list[Taint] = field(default_factory=list)
    max_pods: int | None = None


def orders_of(user_data: str) -> KubeletOrders:
    """Read user data; later documents win, as nodeadm has it."""
    orders = KubeletOrders()
    for part in _parts(user_data):
        if _BOOTSTRAP in part:
            _read_bootstrap(part, orders)
        elif _WINDOWS_BOOTSTRAP in part:
            _read_windows(part, orders)
        elif "settings.kubernetes" in part:
            _read_settings(part, orders)
        else:
            _read_node_config(part, orders)
    return orders


def _parts(user_data: str) -> Iterator[str]:
    if not user_data.lstrip().lower().startswith(("mime-version", "content-type")):
        yield user_data
        return
    for part in email.message_from_string(user_data).walk():
        if not part.is_multipart():
            payload = part.get_payload(decode=True)
            yield payload.decode() if isinstance(payload, bytes) else ""


def _read_node_config(text: str, orders: KubeletOrders) -> None:
    try:
        documents = [d for d in yaml.safe_load_all(text) if isinstance(d, dict)]
    except yaml.YAMLError:
        return
    for document in documents:
        if document.get("kind") == _NODE_CONFIG:
            _obey(document.get("spec", {}), orders)


def _obey(spec: Mapping[str, Any], orders: KubeletOrders) -> None:
    cluster, kubelet = spec.get("cluster", {}), spec.get("kubelet", {})
    orders.cluster = cluster.get("name", orders.cluster)
    orders.endpoint = cluster.get("apiServerEndpoint", orders.endpoint)
    config = kubelet.get("config", {})
    orders.max_pods = config.get("maxPods", orders.max_pods)
    orders.taints += [
        Taint(t["key"], t["effect"], t.get("value", "")) for t in config.get("registerWithTaints", ())
    ]
    _read_flags(kubelet.get("flags", ()), orders)


def _read_bootstrap(script: str, orders: KubeletOrders) -> None:
    line = next(line for line in script.splitlines() if line.strip().startswith(_BOOTSTRAP))
    words = shlex.split(line)
    options = dict(pairwise(words))
    orders.family = AmiFamily.AL2
    orders.cluster = words[1]
    orders.endpoint = options.get("--apiserver-endpoint", orders.endpoint)
    _read_flags(shlex.split(options.get("--kubelet-extra-args", "")), orders)


def _read_windows(script: str, orders: KubeletOrders) -> None:
    """Read the call of the script: in PowerShell's single quotes only a quote is special, and doubled."""
    line = next(line for line in script.splitlines() if _WINDOWS_BOOTSTRAP in line)
    options = {name: value.replace("''", "'") for name, value in _ARGUMENT.findall(line)}
    orders.family = AmiFamily.WINDOWS2022
    orders.cluster = options["EKSClusterName"]
    orders.endpoint = options.get("APIServerEndpoint", orders.endpoint)
    _read_flags(shlex.split(options.get("KubeletExtraArgs", "")), orders)


def _read_settings(text: str, orders: KubeletOrders) -> None:
    said = tomllib.loads(text)["settings"]["kubernetes"]
    orders.family = AmiFamily.BOTTLEROCKET
    orders.cluster, orders.endpoint = said["cluster-name"], said["api-server"]
    orders.labels.update(said.get("node-labels", {}))
    orders.max_pods = said.get("max-pods", orders.max_pods)
    for key, marks in said.get("node-taints", {}).items():
        orders.taints += [Taint.parse(f"{key}={mark}") for mark in marks]


def _read_flags(flags: Any, orders: KubeletOrders) -> None:
    for flag in flags:
        name, _, value = flag.removeprefix("--").partition("=")
        items = [item for item in value.split(",") if item]
        if name == "node-labels":
            orders.labels.update((k, v) for k, _, v in (item.partition("=") for item in items))
        elif name == "register-with-taints":
            orders.taints += map(Taint.parse, items)
        elif name == "max-pods":
            orders.max_pods = int(value)
