"""Bad objects as people have them in their clusters: what each shows, and how it is put right."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from treenail.domain.model import labels

Tree: TypeAlias = dict[str, Any]

KWOK: Final = "karpenter.kwok.sh"
LONG_KEY: Final = ".".join(["domain"] * 38) + "/team"
POOL_REF: Final = "spec.template.spec.nodeClassRef"
REQUIREMENT: Final = "spec.template.spec.requirements[0]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Bad:
    """An object with something wrong, as it is and as it should be.

    `conditions` are (status, reason, beginning of the message) by type; `event` is (reason, part of the
    message) of the warning on the object, or on the pod that asks for it where that is what people look at.
    `beside` is what is in its way, and goes when it is put right. What may not be changed so is `made_anew`.
    A `loose` one was stored before the definitions were strict. `counted` is the label of the metric.
    """

    name: str
    wrong: Tree
    right: Tree
    beside: Tree | None = None
    conditions: Mapping[str, tuple[str, str, str]] = field(default_factory=dict)
    event: tuple[str, str]
    on_pod: bool = False
    loose: bool = False
    made_anew: bool = False
    counted: str = ""
    said: str = "object set aside"

    @property
    def kind(self) -> str:
        return str(self.wrong["kind"])

    @property
    def called(self) -> str:
        return str(self.wrong["metadata"]["name"])

    @property
    def wanted(self) -> Tree | None:
        """A pod that only this pool can serve; None where it is no pool."""
        label = {"NodePool": labels.NODEPOOL, "Provisioner": labels.PROVISIONER}.get(self.kind)
        return deployment(f"on-{self.called}", selector={label: self.called}) if label is not None else None


def class_(name: str, **spec: Any) -> Tree:
    return {
        "apiVersion": f"{KWOK}/v1alpha1",
        "kind": "KWOKNodeClass",
        "metadata": {"name": name},
        "spec": spec,
    }


def pool(name: str, *, of: str = "default", **spec: Any) -> Tree:
    ref = {"group": KWOK, "kind": "KWOKNodeClass", "name": of}
    return {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        "metadata": {"name": name},
        "spec": {
            "disruption": {"consolidationPolicy": "WhenEmpty", "consolidateAfter": "Never"},
            "template": {"spec": {"requirements": [], "nodeClassRef": ref}},
            **spec,
        },
    }


def provisioner(name: str, **spec: Any) -> Tree:
    return {
        "apiVersion": "karpenter.sh/v1alpha5",
        "kind": "Provisioner",
        "metadata": {"name": name},
        # Any type: what a Provisioner means that does not say is found on EC2 alone.
        "spec": {"requirements": [{"key": "node.kubernetes.io/instance-type", "operator": "Exists"}], **spec},
    }


def deployment(name: str, replicas: int = 1, *, selector: Tree | None = None, **pod: Any) -> Tree:
    requests = {"cpu": "500m", **pod.pop("requests", {})}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {
            "replicas": replicas,
            "strategy": {"type": "Recreate"},
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {
                    "terminationGracePeriodSeconds": 0,
                    "nodeSelector": selector or {},
                    "containers": [{"name": "c", "image": "pause", "resources": {"requests": requests}}],
                    **pod,
                },
            },
        },
    }


def but(tree: Tree, path: str, value: object) -> Tree:
    """Return a copy in which the field at `path` ("spec.taints.0.effect") says `value`."""
    changed = copy.deepcopy(tree)
    *way, last = path.split(".")
    at: Any = changed
    for step in way:
        at = at[int(step) if isinstance(at, list) else step]
    at[int(last) if isinstance(at, list) else last] = value
    return changed


def invalid(problem: str, *, of: str = "NodePool") -> dict[str, tuple[str, str, str]]:
    return {
        "ValidationSucceeded": ("False", f"{of}ValidationFailed", problem),
        "Ready": ("False", "UnhealthyDependents", "ValidationSucceeded=False"),
    }


def without_class(reason: str, problem: str) -> dict[str, tuple[str, str, str]]:
    return {
        "ValidationSucceeded": ("True", "ValidationSucceeded", ""),
        "NodeClassReady": ("False", reason, problem),
        "Ready": ("False", "UnhealthyDependents", "NodeClassReady=False"),
    }


def stored_before(name: str, wrong: Tree, problem: str, *, made_anew: bool = False) -> Bad:
    """Return a pool that only looser definitions let in."""
    return Bad(
        name=name,
        wrong=wrong,
        right=pool(wrong["metadata"]["name"]),
        conditions=invalid(problem),
        event=("FailedValidation", problem),
        loose=True,
        made_anew=made_anew,
        counted="NodePool",
    )


def asking(key: str, operator: str, *values: str) -> Tree:
    requirement = {"key": key, "operator": operator, "values": list(values)}
    return {"template": {"spec": {"requirements": [requirement], "nodeClassRef": _DEFAULT}}}


def _affinity(*operators: str) -> Tree:
    """Return an affinity to amd64 by each operator in turn, all of which must hold."""
    terms = [{"key": "kubernetes.io/arch", "operator": o, "values": ["amd64"]} for o in operators]
    required = {"nodeSelectorTerms": [{"matchExpressions": terms}]}
    return {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}}


_DEFAULT: Final = {"group": KWOK, "kind": "KWOKNodeClass", "name": "default"}
_GONE_CLASS: Final = f"{POOL_REF}: there is no KWOKNodeClass nowhere"
_LONG_DELAY: Final = "99999999h"
_PROVIDER: Final = {
    "subnetSelector": {"karpenter.sh/discovery": "demo"},
    "securityGroupSelector": {"karpenter.sh/discovery": "demo"},
}

BAD: Final[tuple[Bad, ...]] = (
    stored_before("a weight beyond 100", pool("heavy", weight=101), "spec.weight: 101 is not between"),
    stored_before(
        "a limit that is no quantity", pool("unlimited", limits={"cpu": "lots"}), 'spec.limits.cpu: "lots" is'
    ),
    stored_before(
        "a time no clock can hold",
        but(pool("eternal"), "spec.disruption.consolidateAfter", "9999999999h"),
        'spec.disruption.consolidateAfter: "9999999999h" is no duration',
    ),
    stored_before(
        "a bound that is no number",
        pool("boundless", **asking("karpenter.kwok.sh/instance-cpu", "Gt", "four")),
        f"{REQUIREMENT}.values",
    ),
    stored_before(
        "a node class of a kind nobody knows",
        but(pool("foreign"), f"{POOL_REF}.kind", "AzureNodeClass"),
        f'{POOL_REF}: "AzureNodeClass" of "karpenter.kwok.sh" is no node class',
        made_anew=True,
    ),
    Bad(
        name="a label key whose domain is too long",
        wrong=pool("wordy", **asking(LONG_KEY, "Exists")),
        right=pool("wordy"),
        conditions=invalid(f"{REQUIREMENT}.key"),
        event=("FailedValidation", f"{REQUIREMENT}.key"),
        counted="NodePool",
    ),
    Bad(
        name="a node class that is not there",
        wrong=pool("orphan", of="nowhere"),
        right=class_("nowhere"),
        conditions=without_class("NodeClassNotFound", _GONE_CLASS),
        event=("NodeClassNotFound", _GONE_CLASS),
        counted="NodePool",
        said="object not ready",
    ),
    Bad(
        name="a node class that nobody understands",
        wrong=class_("slow", nodeRegistrationDelay=_LONG_DELAY),
        right=class_("slow"),
        conditions=invalid("spec.nodeRegistrationDelay", of="NodeClass"),
        event=("FailedValidation", "spec.nodeRegistrationDelay"),
        loose=True,
        counted="NodeClass",
    ),
    Bad(
        name="a pool whose node class nobody understands",
        wrong=pool("waiting", of="slow"),
        right=class_("slow"),
        conditions=without_class("NodeClassValidationFailed", f"{POOL_REF}: KWOKNodeClass/slow is not valid"),
        event=("NodeClassValidationFailed", f"{POOL_REF}: KWOKNodeClass/slow is not valid: spec.node"),
        counted="NodePool",
        said="object not ready",
    ),
    Bad(
        name="a Provisioner called as a NodePool is",
        wrong=provisioner("twin", provider=_PROVIDER),
        right=provisioner("twin", provider=_PROVIDER),
        beside=pool("twin"),
        conditions=invalid("metadata.name: there is a NodePool twin"),
        event=("FailedValidation", "metadata.name: there is a NodePool twin"),
        counted="NodePool",
    ),
    Bad(
        name="a provider with a field nobody knows",
        wrong=provisioner("old", provider={**_PROVIDER, "subnetSelectr": {"a": "b"}}),
        right=provisioner("old", provider=_PROVIDER),
        conditions=invalid("spec.provider.subnetSelectr: is not a known field"),
        event=("FailedValidation", "spec.provider.subnetSelectr: is not a known field"),
        counted="NodePool",
    ),
    Bad(
        name="a pool that may buy nothing more",
        wrong=pool("full", limits={"cpu": "0"}),
        right=pool("full", limits={"cpu": "1000"}),
        event=("FailedScheduling", "full: 0 of cpu is left of the limit"),
        on_pod=True,
        said="",
    ),
    Bad(
        name="a pod that asks for what it forbids",
        wrong=deployment("torn", **_affinity("In", "NotIn")),
        right=deployment("torn", **_affinity("In", "In")),
        event=("FailedScheduling", "what it requires of a node's labels contradicts itself"),
        on_pod=True,
        said="",
    ),
)
