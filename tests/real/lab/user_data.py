"""What an instance's user data tells its kubelet: NodeConfig documents and calls of bootstrap.sh."""

from __future__ import annotations

import email
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Final

import yaml

_NODE_CONFIG: Final = "NodeConfig"
_BOOTSTRAP: Final = "/etc/eks/bootstrap.sh"


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
    """What a kubelet is to do. `max_pods` is None where nothing is said."""

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
    orders.cluster = words[1]
    orders.endpoint = options.get("--apiserver-endpoint", orders.endpoint)
    _read_flags(shlex.split(options.get("--kubelet-extra-args", "")), orders)


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
