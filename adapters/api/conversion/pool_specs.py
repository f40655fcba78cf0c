"""Differences between NodePools and NodeClaims of v1beta1 and v1. The object given is changed in place."""

from __future__ import annotations

from typing import Any, Final

from treenail.adapters.api.conversion.annotations import (
    KUBELET,
    NODE_CLASS_REFERENCE,
    annotate,
    mapping_in,
    taken,
)
from treenail.adapters.api.conversion.trees import Tree, mapping, mappings, text
from treenail.adapters.api.errors import FieldError

_AWS: Final = "karpenter.k8s.aws"
_EC2_NODE_CLASS: Final = "EC2NodeClass"
# The versions of groups that had no v1 when v1beta1 was current.
_VERSIONS: Final = {"karpenter.kwok.sh": "v1alpha1"}
_UNDERUTILIZED: Final = "WhenUnderutilized"
_EMPTY: Final = "WhenEmpty"
_EMPTY_OR_UNDERUTILIZED: Final = "WhenEmptyOrUnderutilized"
_NEVER: Final = "Never"
_AT_ONCE: Final = "0s"
# Bounds that v1 may include, by the bound of v1beta1 that does not, and what to add for the same meaning.
_INCLUSIVE: Final = {"Gte": ("Gt", -1), "Lte": ("Lt", 1)}


def node_pool_to_v1(document: Tree) -> None:
    """Make the NodePool of v1beta1 one of v1."""
    spec = mapping(document, "spec", "")
    template = mapping(mapping(spec, "template", "spec"), "spec", "spec.template")
    _claim_to_v1(document, template, "spec.template.spec")
    # The schema of v1beta1 has it for claims' sake: in a pool it says nothing.
    template.pop("resources", None)
    disruption = mapping(spec, "disruption", "spec")
    if "expireAfter" in disruption:
        template["expireAfter"] = disruption.pop("expireAfter")
    if not disruption:
        spec.pop("disruption", None)
        return
    policy = disruption.get("consolidationPolicy")
    if policy == _UNDERUTILIZED:
        disruption["consolidationPolicy"] = _EMPTY_OR_UNDERUTILIZED
    if policy in (None, _UNDERUTILIZED):
        disruption.setdefault("consolidateAfter", _AT_ONCE)


def node_pool_to_v1beta1(document: Tree) -> None:
    """Make the NodePool of v1 one of v1beta1, which lacks what only v1 can say."""
    spec = mapping(document, "spec", "")
    template = mapping(mapping(spec, "template", "spec"), "spec", "spec.template")
    _claim_to_v1beta1(document, template, "spec.template.spec")
    spec.pop("replicas", None)
    _disruption_to_v1beta1(spec)
    if "expireAfter" in template:
        mapping(spec, "disruption", "spec")
        spec["disruption"] = {**(spec.get("disruption") or {}), "expireAfter": template.pop("expireAfter")}


def _disruption_to_v1beta1(spec: Tree) -> None:
    disruption = mapping(spec, "disruption", "spec")
    policy, after = disruption.get("consolidationPolicy"), disruption.get("consolidateAfter")
    if policy == _EMPTY:
        disruption.setdefault("consolidateAfter", _AT_ONCE)
    else:
        if policy is not None:
            disruption["consolidationPolicy"] = _UNDERUTILIZED
        if after != _NEVER:
            disruption.pop("consolidateAfter", None)
    for budget in mappings(disruption, "budgets", "spec.disruption"):
        budget.pop("reasons", None)
    if not disruption:
        spec.pop("disruption", None)


def node_claim_to_v1(document: Tree) -> None:
    """Make the NodeClaim of v1beta1 one of v1."""
    _claim_to_v1(document, mapping(document, "spec", ""), "spec")


def node_claim_to_v1beta1(document: Tree) -> None:
    """Make the NodeClaim of v1 one of v1beta1, which lacks what only v1 can say."""
    spec = mapping(document, "spec", "")
    _claim_to_v1beta1(document, spec, "spec")
    spec.pop("expireAfter", None)


def _claim_to_v1(document: Tree, spec: Tree, at: str) -> None:
    taken(document, KUBELET)
    kubelet = mapping(spec, "kubelet", at)
    if spec.pop("kubelet", None) is not None:
        annotate(document, KUBELET, kubelet)
    taken(document, NODE_CLASS_REFERENCE)
    ref = mapping(spec, "nodeClassRef", at)
    if ref:
        made = reference_of_v1(ref, f"{at}.nodeClassRef")
        if _reference_of_v1beta1(made, None, at) != ref:
            annotate(document, NODE_CLASS_REFERENCE, ref)
        spec["nodeClassRef"] = made


def _claim_to_v1beta1(document: Tree, spec: Tree, at: str) -> None:
    kubelet = taken(document, KUBELET)
    if kubelet is not None:
        spec["kubelet"] = mapping_in(kubelet, KUBELET)
    ref = mapping(spec, "nodeClassRef", at)
    written = taken(document, NODE_CLASS_REFERENCE)
    if ref:
        spec["nodeClassRef"] = _reference_of_v1beta1(ref, written, f"{at}.nodeClassRef")
    for n, requirement in enumerate(mappings(spec, "requirements", at)):
        without_inclusive_bound(requirement, f"{at}.requirements[{n}]")
    spec.pop("terminationGracePeriod", None)


def reference_of_v1(ref: Tree, at: str) -> Tree:
    """Return a reference of v1beta1 as v1 writes it: by name alone, it is to an EC2NodeClass."""
    group = text(ref, "apiVersion", at).split("/")[0]
    made = {"group": group or _AWS, "kind": text(ref, "kind", at) or _EC2_NODE_CLASS}
    return made | {key: value for key, value in ref.items() if key not in ("apiVersion", "kind")}


def _reference_of_v1beta1(ref: Tree, written: str | None, at: str) -> Tree:
    """Return a reference of v1 as v1beta1 writes it, and as it was `written` where that still holds."""
    if written is not None:
        old = mapping_in(written, NODE_CLASS_REFERENCE)
        if reference_of_v1(old, f"metadata.annotations[{NODE_CLASS_REFERENCE}]") == ref:
            return old
    group = text(ref, "group", at)
    made = {"apiVersion": f"{group}/{_VERSIONS.get(group, 'v1beta1')}"} if group else {}
    return made | {key: value for key, value in ref.items() if key != "group"}


def without_inclusive_bound(requirement: Tree, at: str) -> None:
    """Write Gte and Lte as the Gt and Lt that mean the same; FieldError if the bound is no number."""
    operator = text(requirement, "operator", at)
    if operator not in _INCLUSIVE:
        return
    plain, step = _INCLUSIVE[operator]
    values: Any = requirement.get("values")
    try:
        (bound,) = values
        number = int(bound) + step
    except (TypeError, ValueError):
        raise FieldError(f"{at}.values", f"{operator} needs exactly one whole number") from None
    if number < 0:  # At least 0: any number there is.
        requirement["operator"] = "Exists"
        del requirement["values"]
    else:
        requirement |= {"operator": plain, "values": [str(number)]}
