"""Provisioners and AWSNodeTemplates, converted to NodePools and EC2NodeClasses of v1beta1."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import deepcopy
from typing import Any, Final

from treenail.adapters.api.aws.v1alpha1_selectors import image_terms, resource_terms
from treenail.adapters.api.conversion.pool_specs import without_inclusive_bound
from treenail.adapters.api.conversion.trees import Tree, mapping, mappings, text
from treenail.adapters.api.diagnosis import quoted
from treenail.adapters.api.errors import FieldError
from treenail.adapters.api.karpenter.v1alpha5_provisioner import defaults_beside
from treenail.domain.model import labels
from treenail.domain.model.node_classes import SelectorTerm

PROVISIONER: Final = "Provisioner"
NODE_TEMPLATE: Final = "AWSNodeTemplate"
# Nobody can tell the role from an instance profile that is not named: it is for the user to fill in.
ROLE: Final = "$KARPENTER_NODE_ROLE"

IDS: Final = frozenset({"aws-ids", "aws::ids"})
_AWS: Final = "karpenter.k8s.aws"
_BETA: Final = "v1beta1"
_EC2_NODE_CLASS: Final = "EC2NodeClass"
_CONTAINERD: Final = "containerd"
_UNITS: Final = ((3600, "h"), (60, "m"), (1, "s"))
_COPIED_TO_POOLS: Final = ("requirements", "taints", "startupTaints")
_COPIED_TO_CLASSES: Final = (
    "userData",
    "context",
    "tags",
    "blockDeviceMappings",
    "metadataOptions",
    "detailedMonitoring",
)


def node_pool_of(provisioner: Mapping[str, Any]) -> Tree:
    """Return the NodePool of v1beta1 for a Provisioner, which is not changed.

    What Provisioners mean without saying it is said: their default requirements, that nothing expires or is
    consolidated unless asked for, and that any number of nodes may go at a time.

    Raises:
        FieldError: it says what no NodePool can.
    """
    own = deepcopy(dict(provisioner))
    spec = mapping(own, "spec", "")
    template: Tree = {"nodeClassRef": _reference(own, spec)}
    template |= {name: spec[name] for name in _COPIED_TO_POOLS if spec.get(name)}
    template["requirements"] = [*mappings(spec, "requirements", "spec"), *_defaults(spec)]
    kubelet = _kubelet(spec)
    if kubelet:
        template["kubelet"] = kubelet
    node = {name: spec[name] for name in ("labels", "annotations") if spec.get(name)}
    made: Tree = {"template": {**({"metadata": node} if node else {}), "spec": template}}
    made["disruption"] = _disruption(spec)
    limits = mapping(mapping(spec, "limits", "spec"), "resources", "spec.limits")
    if limits:
        made["limits"] = limits
    if spec.get("weight") is not None:
        made["weight"] = spec["weight"]
    return {
        "apiVersion": f"karpenter.sh/{_BETA}",
        "kind": "NodePool",
        "metadata": mapping(own, "metadata", ""),
        "spec": made,
    }


def node_class_of(template: Mapping[str, Any]) -> Tree:
    """Return the EC2NodeClass of v1beta1 for an AWSNodeTemplate, which is not changed.

    Raises:
        FieldError: it says what no EC2NodeClass can, such as a launch template.
    """
    own = deepcopy(dict(template))
    return _node_class(mapping(own, "metadata", ""), mapping(own, "spec", ""), "spec")


def node_class_within(provisioner: Mapping[str, Any]) -> Tree | None:
    """Return the EC2NodeClass for the provider within a Provisioner, None where it refers to one.

    Raises:
        FieldError: it says what no EC2NodeClass can, such as a launch template.
    """
    own = deepcopy(dict(provisioner))
    provider = mapping(mapping(own, "spec", ""), "provider", "spec")
    if not provider:
        return None
    name = text(mapping(own, "metadata", ""), "name", "metadata")
    return _node_class({"name": name}, provider, "spec.provider")


def _defaults(spec: Tree) -> Iterator[Tree]:
    own = mappings(spec, "requirements", "spec")
    keys = {labels.normalized(text(r, "key", f"spec.requirements[{n}]")) for n, r in enumerate(own)}
    for default in defaults_beside(keys):
        for operator, values in default.written():
            made: Tree = {"key": default.key, "operator": operator.value, "values": list(values)}
            without_inclusive_bound(made, "spec.requirements")
            yield made


def _reference(own: Tree, spec: Tree) -> Tree:
    ref = mapping(spec, "providerRef", "spec")
    if not ref:
        name = text(mapping(own, "metadata", ""), "name", "metadata")
        return {"apiVersion": f"{_AWS}/{_BETA}", "kind": _EC2_NODE_CLASS, "name": name}
    kind = text(ref, "kind", "spec.providerRef") or NODE_TEMPLATE
    if kind == NODE_TEMPLATE:
        return {"apiVersion": f"{_AWS}/{_BETA}", "kind": _EC2_NODE_CLASS, "name": ref.get("name")}
    return {name: ref[name] for name in ("apiVersion", "kind", "name") if name in ref}


def _kubelet(spec: Tree) -> Tree:
    kubelet = mapping(spec, "kubeletConfiguration", "spec")
    runtime = kubelet.pop("containerRuntime", None)
    if runtime not in (None, "", _CONTAINERD):
        problem = f"{quoted(runtime)} has no place in {_BETA}: its nodes have {_CONTAINERD}"
        raise FieldError("spec.kubeletConfiguration.containerRuntime", problem)
    return kubelet


def _disruption(spec: Tree) -> Tree:
    empty, expired = spec.get("ttlSecondsAfterEmpty"), spec.get("ttlSecondsUntilExpired")
    consolidated = mapping(spec, "consolidation", "spec").get("enabled")
    made: Tree = {"consolidationPolicy": "WhenUnderutilized"}
    if not consolidated:
        made = {
            "consolidationPolicy": "WhenEmpty",
            "consolidateAfter": "Never" if empty is None else _duration(empty),
        }
    made["expireAfter"] = "Never" if expired is None else _duration(expired)
    return made | {"budgets": [{"nodes": "100%"}]}


def _duration(seconds: int) -> str:
    """Write seconds in the largest unit that they are a whole number of."""
    size, unit = next(one for one in _UNITS if seconds % one[0] == 0) if seconds else (1, "s")
    return f"{seconds // size}{unit}"


def _node_class(metadata: Tree, spec: Tree, at: str) -> Tree:
    if spec.get("launchTemplate") is not None:
        problem = "has no place in an EC2NodeClass: say there what the launch template says"
        raise FieldError(f"{at}.launchTemplate", problem)
    made: Tree = {"amiFamily": spec.get("amiFamily") or "AL2"}
    selector = mapping(spec, "amiSelector", at)
    if selector:
        made["amiSelectorTerms"] = list(_images(image_terms(selector, f"{at}.amiSelector")))
    for old, prefix in (("subnetSelector", "subnet-"), ("securityGroupSelector", "sg-")):
        terms = resource_terms(mapping(spec, old, at), f"{at}.{old}", prefix=prefix)
        made[f"{old}Terms"] = [_term(term) for term in terms]
    profile = spec.get("instanceProfile")
    made |= {"instanceProfile": profile} if profile else {"role": ROLE}
    made |= {name: spec[name] for name in _COPIED_TO_CLASSES if spec.get(name) is not None}
    return {
        "apiVersion": f"{_AWS}/{_BETA}",
        "kind": _EC2_NODE_CLASS,
        "metadata": metadata,
        "spec": made,
    }


def _images(terms: tuple[SelectorTerm, ...]) -> Iterator[Tree]:
    """Yield the terms, each once. An id says all, and beside it v1beta1 takes nothing."""
    made = [_term(SelectorTerm(id=term.id) if term.id else term) for term in terms]
    for n, term in enumerate(made):
        if term not in made[:n]:
            yield term


def leaves_out_beside_ids(selector: Mapping[str, Any]) -> bool:
    """Return whether a selector of images has ids and keys that v1beta1 does not allow beside ids."""
    return bool(selector.keys() & IDS) and not selector.keys() <= IDS


def _term(term: SelectorTerm) -> Tree:
    made: Tree = {"tags": dict(term.tags)} if term.tags else {}
    fields = {"id": term.id, "name": term.name, "owner": term.owner}
    return made | {name: value for name, value in fields.items() if value}
