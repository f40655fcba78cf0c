"""The changes: which field of which kind says what."""

from __future__ import annotations

import copy
import json
from dataclasses import dataclass
from pathlib import Path as File
from typing import Any, Final, TypeAlias
from zlib import crc32

Tree: TypeAlias = dict[str, Any]
Way: TypeAlias = tuple[str | int, ...]

LONG: Final = 2**31
HUGE: Final = ("8193Pi", "7Ei", "9007199254740993", "9223372036854775807", "1000E", "1e30")
ODD: Final = "not a value!"
TIMES: Final = ("0001-01-01T00:00:01Z", "9999-12-31T23:59:59Z", "9999-12-31T23:59:59-12:00", None)
STATUSES: Final = ("unknown", "", "Degraded", "true")
REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"


@dataclass(frozen=True, slots=True)
class Mutation:
    """One field of an object of a kind, and what it says instead."""

    kind: str
    way: Way
    value: Any

    @property
    def name(self) -> str:
        """Return the kind, the path and the value, on one short line."""
        said = json.dumps(self.value)
        path = ".".join(map(str, self.way))
        short = said if len(said) <= 90 else f"{said[:70]}~{crc32(said.encode()):x}"
        return f"{self.kind}:{path}={short}"

    @property
    def of_status(self) -> bool:
        return self.way[0] == "status"

    def applied(self, tree: Tree) -> Tree:
        """Return a copy of an object that has this change. What is missing on the way there is made."""
        made = copy.deepcopy(tree)
        at: Any = made
        for step, after in zip(self.way, self.way[1:], strict=False):
            empty: Any = [] if isinstance(after, int) else {}
            if isinstance(at, list) and step == len(at):
                at.append(empty)
            elif isinstance(at, dict):
                at.setdefault(step, empty)
            at = at[step]
        last = self.way[-1]
        if isinstance(at, list) and last == len(at):
            at.append(self.value)
        else:
            at[last] = self.value
        return made


def _several(kind: str, path: str, *values: Any) -> list[Mutation]:
    """Return changes of the field at a path: steps with dots between them, "~" for a dot within one."""
    way = tuple(int(s) if s.isdecimal() else s.replace("~", ".") for s in path.split("."))
    return [Mutation(kind, way, value) for value in values]


def _line(operator: str, *values: str, key: str = "team") -> Tree:
    return {"key": key, "operator": operator, "values": list(values)}


def _term(operator: str, *values: str, key: str = "team") -> Tree:
    return {"matchExpressions": [_line(operator, *values, key=key)]}


_KEPT: Final = "karpenter~sh/do-not-disrupt"
_FIELD: Final = {"matchFields": [_line("NotIn", "nobody", key="metadata.name")]}
_LINES: Final[tuple[Tree, ...]] = (
    _term("In", ODD),
    _term("In", "a" * 64),
    _term("In", "-a-"),
    _term("NotIn", ODD),
    _term("In", ODD, "a"),
    _term("In", ""),
    _term("Gt", "big"),
    _term("Gt", "9" * 30),
    _term("Lt", "-5"),
    _term("Exists", key="a" * 63),
    _term("DoesNotExist", key="example.com/" + "a" * 63),
    _term("NotIn", *(f"v-{n}" for n in range(100))),
    _FIELD,
    {"matchExpressions": []},
    {},
    _term("Resembles", "a"),
    _term("", "a"),
    _term("In"),
)
_SELECTORS: Final[tuple[Tree, ...]] = (
    {},
    {"matchLabels": {"app": "a" * 63}},
    {"matchExpressions": [_line("Exists", key="app")]},
    {"matchExpressions": [{"key": "app", "operator": "DoesNotExist"}]},
    {"matchExpressions": [_line("In", ODD, key="app")]},
    {"matchExpressions": [_line("NotIn", "a" * 64, key="app")]},
    {"matchExpressions": [_line("Resembles", "a", key="app")]},
    {"matchLabels": {"app": ODD}},
    {"matchExpressions": []},
    {"newField": 1},
)


def _pods() -> list[Mutation]:
    affinity = f"spec.affinity.nodeAffinity.{REQUIRED}.nodeSelectorTerms"
    gpu = {"example.com/gpu": "9007199254740993"}
    near = {"topologyKey": "kubernetes.io/hostname", "labelSelector": {"matchLabels": {"app": "nobody"}}}
    spread = {"topologyKey": "zone", "maxSkew": 1, "whenUnsatisfiable": "ScheduleAnyway", "labelSelector": {}}
    anti = "spec.affinity.podAntiAffinity"
    return [
        *_several("Pod", "spec.terminationGracePeriodSeconds", 0, LONG - 1, LONG, 2**40, 2**63 - 1, -1),
        *_several("Pod", "spec.containers.0.resources.limits.memory", *HUGE, "8Pi", "1500m"),
        *_several("Pod", "spec.containers.0.resources.requests.cpu", "1n", "0", "9223372036854775807"),
        *_several("Pod", "spec.containers.0.resources", {"requests": gpu, "limits": gpu}, {"claims": []}),
        *_several("Pod", affinity, *([line] for line in _LINES), []),
        *(
            one
            for line in _LINES
            for one in _several(
                "Pod", f"spec.affinity.nodeAffinity.{PREFERRED}", [{"weight": 100, "preference": line}]
            )
        ),
        *_several(
            "Pod", f"spec.affinity.nodeAffinity.{PREFERRED}", [{"weight": 0, "preference": _term("In", "a")}]
        ),
        *_several("Pod", f"{anti}.{REQUIRED}", *([near | {"labelSelector": s}] for s in _SELECTORS)),
        *_several(
            "Pod",
            f"{anti}.{REQUIRED}",
            [near | {"topologyKey": ODD}],
            [near | {"namespaces": ["Not A Namespace"]}],
            [near | {"namespaceSelector": {}}],
            [near | {"matchLabelKeys": ["nobody"]}],
        ),
        *_several(
            "Pod",
            "spec.tolerations",
            # Who tolerates the taint of nodes that leave is not drained, as in Karpenter: not every effect.
            [{"operator": "Exists", "effect": "NoExecute"}],
            [{"key": "team", "operator": "Lt", "value": "5"}],
            [{"key": "team", "operator": "Resembles", "value": "a"}],
            [{"key": "team", "operator": "Exists", "effect": "Slow"}],
            [{"key": "team", "value": ODD}],
            [{"key": "team", "effect": "NoExecute", "tolerationSeconds": 2**63 - 1}],
            [{"key": "team", "effect": "NoExecute", "tolerationSeconds": -(2**63)}],
            [{"key": "a" * 64, "operator": "Exists"}],
            [],
        ),
        *_several(
            "Pod",
            "spec.topologySpreadConstraints",
            [spread | {"maxSkew": LONG - 1}],
            [spread | {"maxSkew": 0}],
            [spread | {"whenUnsatisfiable": "Maybe"}],
            [spread | {"nodeTaintsPolicy": "Sometimes"}],
            [spread | {"whenUnsatisfiable": "DoNotSchedule", "minDomains": LONG - 1}],
            [spread | {"minDomains": 2}],
            [spread | {"topologyKey": ODD}],
            [spread | {"matchLabelKeys": ["nobody"]}],
            [spread | {"labelSelector": None}],
        ),
        *_several("Pod", "spec.containers.0.ports", [{"containerPort": 1, "hostPort": 65536}]),
        *_several("Pod", "spec.containers.0.ports", [{"containerPort": 1, "protocol": "QUIC"}]),
        *_several("Pod", "spec.schedulerName", "other", ""),
        *_several("Pod", "spec.restartPolicy", "Never", "Sometimes"),
        *_several("Pod", "spec.newField", {"a": [1]}),
        *_several("Pod", "metadata.newField", 1),
        *_several(
            "Pod", "metadata.annotations.karpenter~sh/do-not-disrupt", "maybe", "-5m", "9" * 12 + "h", ""
        ),
        *_several("Pod", "metadata.annotations.example~com/big", "x" * 100_000),
        *_several("Pod", "metadata.labels.team", "a" * 63, ""),
        *_several("Pod", "metadata.finalizers", ["example.com/odd"]),
        *_several("Pod", "status.phase", "Paused", "Unknown", ""),
        *_several("Pod", "status.conditions", *([{"type": "Ready", "status": s}] for s in STATUSES), []),
        *_several(
            "Pod",
            "status.conditions",
            *([{"type": "Ready", "status": "True", "lastTransitionTime": t}] for t in TIMES),
            [{"type": "", "status": "True"}],
            [{"type": "PodScheduled", "status": "Maybe", "reason": "Unschedulable"}],
        ),
        *_several("Pod", "status.startTime", *TIMES),
        *_several("Pod", "status.nominatedNodeName", "nowhere", ODD),
        *_several("Pod", "status.newField", [None]),
    ]


def _more() -> list[Mutation]:
    """Return what else a kubelet, an agent or a later release may well write."""
    spec = "spec.template.spec"
    spread = {"topologyKey": "zone", "maxSkew": 1, "whenUnsatisfiable": "ScheduleAnyway", "labelSelector": {}}
    near = {"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": "nobody"}}}
    return [
        *(
            one
            for name in ("memory", "ephemeral-storage", "pods", "hugepages-2Mi", "attachable-volumes-csi")
            for one in _several("Node", f"status.capacity.{name}", *HUGE[2:], "0")
        ),
        *(
            one
            for name in ("MemoryPressure", "NetworkUnavailable", "example.com/Odd")
            for status in STATUSES
            for one in _several("Node", "status.conditions", [{"type": name, "status": status}])
        ),
        *(
            one
            for name in ("PodScheduled", "ContainersReady", "example.com/Odd")
            for status in STATUSES
            for one in _several("Pod", "status.conditions", [{"type": name, "status": status}])
        ),
        *_several("Pod", "spec.containers.0.resources.requests.ephemeral-storage", *HUGE),
        *_several("DaemonSet", f"{spec}.containers.0.resources.requests.ephemeral-storage", *HUGE),
        *(
            one
            for line in _LINES[:8]
            for one in _several(
                "DaemonSet",
                f"{spec}.affinity.nodeAffinity.{PREFERRED}",
                [{"weight": 1, "preference": line}],
            )
        ),
        *_several(
            "DaemonSet", f"{spec}.topologySpreadConstraints", [spread], [spread | {"topologyKey": ODD}]
        ),
        *_several("DaemonSet", f"{spec}.affinity.podAffinity.{REQUIRED}", [near]),
        *(
            one
            for selector in _SELECTORS[:4]
            for one in _several(
                "Pod",
                f"spec.affinity.podAntiAffinity.{PREFERRED}",
                [{"weight": 1, "podAffinityTerm": near | {"labelSelector": selector}}],
            )
        ),
        *_several("PodDisruptionBudget", "metadata.annotations.example~com/big", "x" * 100_000),
        *_several("PersistentVolume", "metadata.labels.topology~kubernetes~io/zone", "", "a__b"),
        *_several("CSINode", "metadata.annotations.example~com/big", "x" * 100_000),
        *_several("Node", "status.nodeInfo.newField", 1),
    ]


def _nodes() -> list[Mutation]:
    taint = {"key": "example.com/odd", "effect": "PreferNoSchedule"}
    return [
        *_several("Node", "status.allocatable.example~com/gpu", *HUGE, "0", "-1"),
        *_several("Node", "status.capacity.memory", *HUGE),
        *_several("Node", "status.allocatable.cpu", "-1", "0", "9223372036854775807", "1n"),
        *_several("Node", "status.allocatable.memory", "-8Gi", "1e3"),
        *_several("Node", "status.allocatable.odd", "1"),
        *_several("Node", "status.conditions", *([{"type": "Ready", "status": s}] for s in STATUSES), []),
        *_several(
            "Node",
            "status.conditions",
            *([{"type": "Ready", "status": "True", "lastHeartbeatTime": t}] for t in TIMES),
            *([{"type": "Ready", "status": "True", "lastTransitionTime": t}] for t in TIMES),
            [{"type": "Ready", "status": "True"}, {"type": "example.com/Odd", "status": "unknown"}],
            [{"type": "Ready", "status": "True", "newField": 1}],
        ),
        *_several(
            "Node",
            "spec.taints",
            [taint | {"value": ODD}],
            [taint | {"value": "a" * 63}],
            [taint | {"key": "a" * 64}],
            [taint | {"effect": "Slow"}],
            [taint | {"effect": ""}],
            [taint, taint],
            [taint | {"timeAdded": "9999-12-31T23:59:59Z"}],
            [],
        ),
        *_several("Node", "spec.newField", 1),
        *_several("Node", "status.phase", "Odd"),
        *_several("Node", "status.newField", {}),
        *_several("Node", "metadata.labels.example~com/odd", "", "a" * 63, ODD),
        *_several("Node", "metadata.annotations.example~com/big", "x" * 100_000),
    ]


def _claims() -> list[Mutation]:
    taint = {"key": "example.com/odd", "effect": "PreferNoSchedule"}
    ready = {"type": "Odd", "status": "True", "reason": "Odd", "message": "", "lastTransitionTime": TIMES[1]}
    lines = [
        _line("In", ODD),
        _line("NotIn", "a" * 64),
        _line("Gt", "big"),
        _line("Gt", "-5"),
        _line("Lte", "9" * 30),
        _line("Resembles", "a"),
        _line("In"),
        _line("Exists", "a"),
        _line("In", "a") | {"minValues": 1},
        _line("In", "a") | {"minValues": 51},
        _line("In", "a", key="k" * 317),
        _line("In", "a") | {"newField": 1},
    ]
    return [
        *(one for line in lines for one in _several("NodeClaim", "spec.requirements", [line])),
        *_several("NodeClaim", "spec.requirements", []),
        *_several("NodeClaim", "spec.expireAfter", "9" * 12 + "h", "Never", "99999h", "1d"),
        *_several("NodeClaim", "spec.terminationGracePeriod", "9" * 12 + "h", "99999h", "forever"),
        *_several("NodeClaim", "spec.resources.requests.memory", *HUGE, "-1"),
        *_several("NodeClaim", "status.allocatable.example~com/gpu", *HUGE, "-1", "1e1.5"),
        *_several(
            "NodeClaim",
            "spec.taints",
            [taint | {"value": ODD}],
            [taint | {"effect": "Slow"}],
            [taint | {"timeAdded": TIMES[1]}],
        ),
        *_several("NodeClaim", "spec.newField", 1),
        *_several("NodeClaim", "status.newField", 1),
        *_several("NodeClaim", "metadata.annotations.example~com/big", "x" * 100_000),
        *_several("NodeClaim", "status.conditions.3", ready, ready | {"status": "unknown"}),
        *_several("NodeClaim", "status.conditions.3", ready | {"lastTransitionTime": TIMES[0]}),
        *_several("NodeClaim", "status.conditions.3", ready | {"newField": 1}),
        *_several("NodeClaim", "status.lastPodEventTime", *TIMES),
    ]


def _budgets() -> list[Mutation]:
    kind = "PodDisruptionBudget"
    return [
        *_several(kind, "spec.selector", *_SELECTORS, None),
        *_several(
            kind, "spec.maxUnavailable", 0, LONG - 1, "100%", "0100%", "0%", "101%", "1.5%", "", -1, "5"
        ),
        *_several(kind, "spec.minAvailable", 1),
        *_several(kind, "spec.unhealthyPodEvictionPolicy", "AlwaysAllow", "Maybe", ""),
        *_several(kind, "status.disruptionsAllowed", 0, -1, LONG - 1),
        *_several(kind, "status.conditions", [{"type": "Odd", "status": "unknown"}]),
        *_several(kind, "spec.newField", 1),
    ]


def _storage() -> list[Mutation]:
    volume, claim, by, node = "PersistentVolume", "PersistentVolumeClaim", "StorageClass", "CSINode"
    driver = {"name": "ebs.csi.aws.com", "nodeID": "n", "topologyKeys": []}
    return [
        *_several(volume, "spec.capacity.storage", *HUGE, "0"),
        *_several(volume, "spec.nodeAffinity.required.nodeSelectorTerms", *([line] for line in _LINES[:14])),
        *_several(volume, "spec.accessModes", ["ReadWriteSometimes"], []),
        *_several(volume, "spec.csi.volumeHandle", "x" * 1000, ""),
        *_several(volume, "spec.volumeMode", "Odd"),
        *_several(volume, "spec.newField", 1),
        *_several(claim, "spec.resources.requests.storage", *HUGE, "-1", "0"),
        *_several(claim, "spec.storageClassName", ODD, "nothing"),
        *_several(claim, "spec.accessModes", ["ReadWriteSometimes"]),
        *_several(claim, "spec.selector", *_SELECTORS[:5]),
        *_several(claim, "status.phase", "Odd", "Lost"),
        *_several(by, "volumeBindingMode", "Immediate", "Sometimes"),
        *_several(
            by,
            "allowedTopologies",
            [{"matchLabelExpressions": [{"key": "zone", "values": [ODD]}]}],
            [{"matchLabelExpressions": [{"key": "zone", "values": []}]}],
            [{"matchLabelExpressions": []}],
            [{"matchLabelExpressions": [{"key": ODD, "values": ["a"]}]}],
            [{}],
            [],
        ),
        *_several(by, "provisioner", "", "x" * 63, "kubernetes.io/odd", ODD),
        *_several(by, "reclaimPolicy", "Sometimes"),
        *_several(by, "parameters", {"odd": "x" * 1000}),
        *_several(
            node,
            "spec.drivers",
            [],
            [driver | {"allocatable": {"count": LONG - 1}}],
            [driver | {"allocatable": {"count": -1}}],
            [driver | {"allocatable": {}}],
            [driver | {"name": ""}],
            [driver | {"newField": 1}],
            [driver, driver],
        ),
    ]


def _daemons() -> list[Mutation]:
    spec = "spec.template.spec"
    return [
        *_several("DaemonSet", f"{spec}.terminationGracePeriodSeconds", LONG, 2**63 - 1),
        *_several("DaemonSet", f"{spec}.containers.0.resources.limits.memory", *HUGE),
        *_several(
            "DaemonSet",
            f"{spec}.affinity.nodeAffinity.{REQUIRED}.nodeSelectorTerms",
            *([line] for line in _LINES),
        ),
        *_several("DaemonSet", f"{spec}.tolerations", [{"key": "a", "operator": "Resembles"}]),
        *_several("DaemonSet", f"{spec}.restartPolicy", "Never"),
        *_several("DaemonSet", "spec.updateStrategy.type", "Odd"),
        *_several("DaemonSet", "spec.newField", 1),
    ]


_ALL: Final = (*_pods(), *_nodes(), *_claims(), *_budgets(), *_storage(), *_daemons(), *_more())
MUTATIONS: Final = tuple({one.name: one for one in _ALL}.values())
# Those that the API server of tests/real refuses: one of another version may not.
REFUSED: Final = frozenset(json.loads((File(__file__).parent / "refused.json").read_text()))
