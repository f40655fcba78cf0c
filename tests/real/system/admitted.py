"""Pods that admission makes other than their template: shapes, and what an API server is told to do so."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from treenail.domain.model import labels

Tree: TypeAlias = dict[str, Any]

REPLICAS: Final = 30
NAME: Final = "wanted"
_ADMISSION: Final = "/apis/admissionregistration.k8s.io/v1beta1"
POLICIES: Final = f"{_ADMISSION}/mutatingadmissionpolicies"
BINDINGS: Final = f"{_ADMISSION}/mutatingadmissionpolicybindings"
LIMIT_RANGES: Final = "/api/v1/namespaces/default/limitranges"
PRIORITY_CLASSES: Final = "/apis/scheduling.k8s.io/v1/priorityclasses"
RUNTIME_CLASSES: Final = "/apis/node.k8s.io/v1/runtimeclasses"
_TAINT: Final = {"key": "example.com/dedicated", "value": "wanted", "effect": "NoSchedule"}
_TOLERATION: Final = {**_TAINT, "operator": "Equal"}
_LIKE: Final = {"matchLabels": {"app": NAME}}


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """How a pod comes out of admission, told by where a change of it stands in the pod.

    `patches` are what a MutatingAdmissionPolicy adds, by JSON pointer; `objects` what else there has to be,
    by path of its collection; `template` is what the template says beside a container that asks for 250m.
    """

    name: str
    admitted: Callable[[Tree], object]
    patches: Mapping[str, object] = field(default_factory=dict)
    objects: Mapping[str, Tree] = field(default_factory=dict)
    template: Tree = field(default_factory=dict)
    requests: Tree = field(default_factory=lambda: {"cpu": "250m"})
    taints: tuple[Tree, ...] = ()

    def deployment(self) -> Tree:
        container = {"name": "main", "image": "pause", "resources": {"requests": self.requests}}
        pod = {"terminationGracePeriodSeconds": 0, "containers": [container], **self.template}
        return {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": NAME},
            "spec": {
                "replicas": REPLICAS,
                "selector": _LIKE,
                "template": {"metadata": {"labels": {"app": NAME}}, "spec": pod},
            },
        }

    def to_admit(self) -> Mapping[str, Tree]:
        """Return what is to be made before the Deployment, by path of its collection."""
        if not self.patches:
            return self.objects
        return {**self.objects, POLICIES: _policy(self.patches), BINDINGS: _binding()}


def _meta(kind: str, api_version: str, **fields: object) -> Tree:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": NAME}, **fields}


def _policy(patches: Mapping[str, object]) -> Tree:
    adds = [
        f'JSONPatch{{op: "add", path: {json.dumps(path)}, value: {_cel(value)}}}'
        for path, value in patches.items()
    ]
    of_pods = {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}
    return _meta(
        "MutatingAdmissionPolicy",
        "admissionregistration.k8s.io/v1beta1",
        spec={
            "matchConstraints": {"resourceRules": [of_pods]},
            "failurePolicy": "Fail",
            "reinvocationPolicy": "Never",
            "mutations": [{"patchType": "JSONPatch", "jsonPatch": {"expression": f"[{', '.join(adds)}]"}}],
        },
    )


def _binding() -> Tree:
    return _meta(
        "MutatingAdmissionPolicyBinding",
        "admissionregistration.k8s.io/v1beta1",
        spec={"policyName": NAME},
    )


def _cel(value: object) -> str:
    """Write a value in CEL, whose maps and lists have members of one type, but where they are dynamic."""
    match value:
        case dict():
            members = (f"{json.dumps(key)}: dyn({_cel(one)})" for key, one in value.items())
            return f"{{{', '.join(members)}}}"
        case list():
            return f"[{', '.join(f'dyn({_cel(one)})' for one in value)}]"
        case _:
            return json.dumps(value)


def _limit_range(**amounts: Tree) -> Mapping[str, Tree]:
    return {LIMIT_RANGES: _meta("LimitRange", "v1", spec={"limits": [{"type": "Container", **amounts}]})}


def _runtime_class(**fields: object) -> Mapping[str, Tree]:
    return {RUNTIME_CLASSES: _meta("RuntimeClass", "node.k8s.io/v1", handler="runc", **fields)}


def _container(name: str, cpu: str, **fields: object) -> Tree:
    return {"name": name, "image": "pause", "resources": {"requests": {"cpu": cpu}}, **fields}


def _requested(pod: Tree, resource: str = "cpu") -> object:
    return pod["spec"]["containers"][0]["resources"].get("requests", {}).get(resource)


def _spread(key: str) -> Tree:
    rule = {"topologyKey": key, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": _LIKE}
    return {"maxSkew": 1 if key == labels.ZONE else 5, **rule}


def _term(key: str, alike: Tree = _LIKE) -> Tree:
    return {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": key, "labelSelector": alike}]}


def _in_zone(zone: str) -> Tree:
    wanted = {"key": labels.ZONE, "operator": "In", "values": [zone]}
    terms = {"nodeSelectorTerms": [{"matchExpressions": [wanted]}]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}


def shapes(zone: str) -> tuple[Shape, ...]:
    """Return the shapes; `zone` is one of the account's."""
    return (
        Shape(
            name="a sidecar",
            patches={"/spec/containers/-": _container("proxy", "500m")},
            admitted=lambda pod: len(pod["spec"]["containers"]) == 2,
        ),
        Shape(
            name="a sidecar that starts first",
            patches={"/spec/initContainers": [_container("proxy", "500m", restartPolicy="Always")]},
            admitted=lambda pod: pod["spec"].get("initContainers"),
        ),
        Shape(
            name="an init container that asks for more",
            patches={"/spec/initContainers": [_container("first", "1500m")]},
            admitted=lambda pod: pod["spec"].get("initContainers"),
        ),
        Shape(
            name="requests raised",
            patches={"/spec/containers/0/resources/requests/cpu": "900m"},
            admitted=lambda pod: _requested(pod) == "900m",
        ),
        Shape(
            name="requests where there were none",
            patches={"/spec/containers/0/resources": {"requests": {"cpu": "700m", "memory": "1Gi"}}},
            requests={},
            admitted=lambda pod: _requested(pod) == "700m",
        ),
        Shape(
            name="ephemeral storage",
            patches={"/spec/containers/0/resources/requests/ephemeral-storage": "4Gi"},
            admitted=lambda pod: _requested(pod, "ephemeral-storage"),
        ),
        Shape(
            name="requests by a LimitRange",
            objects=_limit_range(defaultRequest={"cpu": "800m"}),
            requests={},
            admitted=lambda pod: _requested(pod) == "800m",
        ),
        Shape(
            name="memory by a LimitRange",
            objects=_limit_range(defaultRequest={"memory": "3Gi"}),
            admitted=lambda pod: _requested(pod, "memory") == "3Gi",
        ),
        Shape(
            name="limits by a LimitRange",
            objects=_limit_range(default={"cpu": "1"}),
            requests={},
            admitted=lambda pod: _requested(pod) == "1",
        ),
        Shape(
            name="a default priority",
            objects={
                PRIORITY_CLASSES: _meta(
                    "PriorityClass", "scheduling.k8s.io/v1", value=1000, globalDefault=True
                )
            },
            admitted=lambda pod: pod["spec"]["priority"] == 1000,
        ),
        Shape(
            name="a toleration",
            patches={"/spec/tolerations": [_TOLERATION]},
            taints=(_TAINT,),
            admitted=lambda pod: _TOLERATION in pod["spec"]["tolerations"],
        ),
        Shape(
            name="a node selector",
            patches={"/spec/nodeSelector": {labels.ZONE: zone}},
            admitted=lambda pod: pod["spec"].get("nodeSelector"),
        ),
        Shape(
            name="node affinity",
            patches={"/spec/affinity": _in_zone(zone)},
            admitted=lambda pod: pod["spec"].get("affinity"),
        ),
        Shape(
            name="near one another",
            patches={"/spec/affinity": {"podAffinity": _term(labels.ZONE)}},
            admitted=lambda pod: pod["spec"].get("affinity"),
        ),
        Shape(
            name="each on its own node",
            patches={"/spec/affinity": {"podAntiAffinity": _term(labels.HOSTNAME)}},
            admitted=lambda pod: pod["spec"].get("affinity"),
        ),
        Shape(
            name="spread over zones",
            patches={"/spec/topologySpreadConstraints": [_spread(labels.ZONE)]},
            admitted=lambda pod: pod["spec"].get("topologySpreadConstraints"),
        ),
        Shape(
            name="spread over nodes",
            patches={"/spec/topologySpreadConstraints": [_spread(labels.HOSTNAME)]},
            admitted=lambda pod: pod["spec"].get("topologySpreadConstraints"),
        ),
        Shape(
            name="a host port",
            patches={"/spec/containers/0/ports": [{"containerPort": 80, "hostPort": 8080}]},
            admitted=lambda pod: pod["spec"]["containers"][0].get("ports"),
        ),
        Shape(
            name="overhead of a RuntimeClass",
            objects=_runtime_class(overhead={"podFixed": {"cpu": "500m"}}),
            template={"runtimeClassName": NAME},
            admitted=lambda pod: pod["spec"]["overhead"] == {"cpu": "500m"},
        ),
        Shape(
            name="nodes of a RuntimeClass",
            objects=_runtime_class(scheduling={"nodeSelector": {labels.ZONE: zone}}),
            template={"runtimeClassName": NAME},
            admitted=lambda pod: pod["spec"].get("nodeSelector"),
        ),
        Shape(
            name="secrets for images",
            patches={"/spec/imagePullSecrets": [{"name": "registry"}]},
            admitted=lambda pod: {"name": "registry"} in pod["spec"]["imagePullSecrets"],
        ),
    )
