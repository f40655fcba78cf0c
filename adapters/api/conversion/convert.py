"""Conversion of one object from one version to another."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, Final

from treenail.adapters.api.conversion.annotations import (
    V1_FIELDS,
    V1BETA1_FIELDS,
    annotate,
    annotated,
    list_in,
    taken,
)
from treenail.adapters.api.conversion.errors import ConversionError
from treenail.adapters.api.conversion.node_class_specs import node_class_to_v1, node_class_to_v1beta1
from treenail.adapters.api.conversion.pool_specs import (
    node_claim_to_v1,
    node_claim_to_v1beta1,
    node_pool_to_v1,
    node_pool_to_v1beta1,
)
from treenail.adapters.api.conversion.remembered import differences, fields_of, put_back
from treenail.adapters.api.conversion.trees import Tree, mapping
from treenail.adapters.api.diagnosis import quoted
from treenail.adapters.api.errors import FieldError

V1BETA1: Final = "v1beta1"
V1: Final = "v1"


@dataclass(frozen=True, slots=True)
class _Ways:
    """Conversions of one kind by target version, each changing the object it is given."""

    group: str
    to: Mapping[str, Callable[[Tree], None]]


_KINDS: Final[Mapping[str, _Ways]] = {
    "NodePool": _Ways("karpenter.sh", {V1: node_pool_to_v1, V1BETA1: node_pool_to_v1beta1}),
    "NodeClaim": _Ways("karpenter.sh", {V1: node_claim_to_v1, V1BETA1: node_claim_to_v1beta1}),
    "EC2NodeClass": _Ways("karpenter.k8s.aws", {V1: node_class_to_v1, V1BETA1: node_class_to_v1beta1}),
}
_OTHER: Final = {V1: V1BETA1, V1BETA1: V1}
# By the version of an object, the annotation for fields that only the other version has.
_KEPT: Final = {V1: V1BETA1_FIELDS, V1BETA1: V1_FIELDS}


def converted(document: Mapping[str, Any], to: str) -> dict[str, Any]:
    """Return one object of NodePool, NodeClaim or EC2NodeClass in the version `to`, "v1" or "v1beta1".

    `document` is decoded JSON of either version and is not changed. What only the other version can say is
    kept in annotations, and converting back gives the object again, but for what was changed in between:
    that stays. An object of the version `to` is returned as it is. Other metadata and the status stay.

    Raises:
        ConversionError: it is no such object, or a field that must be read is not of its type.
    """
    own = dict(deepcopy(document))
    try:
        ways, version = _ways(own, to)
        if version == to:
            return own
        made = deepcopy(own)
        notes = taken(made, _KEPT[version])
        ways.to[to](made)
        _renamed(made, to)
        if notes is not None:
            at = f"metadata.annotations[{_KEPT[version]}]"
            put_back(made.setdefault("spec", {}), list_in(notes, _KEPT[version]), at)
        _note(made, own, ways)
    except FieldError as problem:
        raise ConversionError(called(document), problem.field, problem.problem) from None
    return made


def kept_fields(document: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the fields that an annotation of ours keeps for the other version: ("spec.template.spec", ...).

    `document` is what `converted` returns.
    """
    key = _KEPT[str(document["apiVersion"]).rpartition("/")[2]]
    notes = annotated(dict(document), key)
    return fields_of(list_in(notes, key)) if notes is not None else ()


def _ways(document: Tree, to: str) -> tuple[_Ways, str]:
    kind, api_version = document.get("kind"), document.get("apiVersion")
    ways = _KINDS.get(kind) if isinstance(kind, str) else None
    if ways is None:
        raise FieldError("kind", f"{quoted(kind)} is none of {', '.join(sorted(_KINDS))}")
    versions = {f"{ways.group}/{version}": version for version in (V1BETA1, V1)}
    version = versions.get(api_version) if isinstance(api_version, str) else None
    if version is None:
        raise FieldError("apiVersion", f"{quoted(api_version)} is neither of {' and '.join(versions)}")
    if to not in _OTHER:
        raise FieldError("", f"there is no version {quoted(to)} of it, only {V1BETA1} and {V1}")
    mapping(mapping(document, "metadata", ""), "annotations", "metadata")
    return ways, version


def _note(made: Tree, own: Tree, ways: _Ways) -> None:
    """Note on `made` what converting it back would not give again of `own`."""
    version = str(own["apiVersion"]).rpartition("/")[2]
    back = deepcopy(made)
    ways.to[version](back)
    lost = list(differences(back.get("spec") or {}, own.get("spec") or {}))
    if lost:
        annotate(made, _KEPT[_OTHER[version]], lost)


def _renamed(made: Tree, to: str) -> None:
    group = str(made["apiVersion"]).partition("/")[0]
    made["apiVersion"] = f"{group}/{to}"


def called(document: Mapping[str, Any]) -> str:
    """Return "NodePool default", or the part of it that the object says."""
    kind, metadata = document.get("kind"), document.get("metadata")
    name = metadata.get("name") if isinstance(metadata, Mapping) else None
    return f"{kind if isinstance(kind, str) else 'object'} {name or ''}".rstrip()
