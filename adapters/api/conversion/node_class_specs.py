"""Differences between the EC2NodeClass specs of v1beta1 and v1. The object given is changed in place."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import Any, Final

from treenail.adapters.api.aws.v1_selectors import FAMILIES
from treenail.adapters.api.conversion.annotations import UBUNTU, annotate_by_text, annotated, taken
from treenail.adapters.api.conversion.trees import Tree, mapping, mappings, text
from treenail.domain.model.node_classes import AmiFamily

_ONLY_V1: Final = (
    "kubelet",
    "capacityReservationSelectorTerms",
    "placementGroupSelector",
    "ipPrefixCount",
    "networkInterfaces",
    "connectionTracking",
    "cpuOptions",
)
_HOPS: Final = "httpPutResponseHopLimit"
_HOPS_V1BETA1: Final = 2
_HOPS_V1: Final = 1
_UBUNTU: Final = AmiFamily.UBUNTU.value
_AL2: Final = AmiFamily.AL2.value
# Families of v1beta1 whose images an alias of v1 names.
_BY_ALIAS: Final = frozenset({"AL2", "AL2023", "Bottlerocket", "Windows2019", "Windows2022"})
# Karpenter's form of an Ubuntu node class in v1, and the word in its annotation.
FAMILY_WORD: Final = "amiFamily"
DEVICES_WORD: Final = "blockDeviceMappings"
NO_TERMS_WORD: Final = "incompatible"
PLACEHOLDER: Final = [{"id": "ami-placeholder"}]
UBUNTU_DEVICES: Final[list[dict[str, Any]]] = [
    {
        "deviceName": "/dev/sda1",
        "rootVolume": True,
        "ebs": {"encrypted": True, "volumeType": "gp3", "volumeSize": "20Gi"},
    }
]


def node_class_to_v1(document: Tree) -> None:
    """Make the EC2NodeClass of v1beta1 one of v1."""
    spec = mapping(document, "spec", "")
    taken(document, UBUNTU)
    family = text(spec, "amiFamily", "spec")
    terms = mappings(spec, "amiSelectorTerms", "spec")
    if family == _UBUNTU:
        _from_ubuntu(document, spec)
    elif family not in _BY_ALIAS:
        spec["amiFamily"] = AmiFamily.CUSTOM.value
    elif not terms:
        del spec["amiFamily"]
        spec["amiSelectorTerms"] = [{"alias": f"{family.lower()}@latest"}]
    _say_hops(spec, _HOPS_V1BETA1)


def node_class_to_v1beta1(document: Tree) -> None:
    """Make the EC2NodeClass of v1 one of v1beta1, which lacks what only v1 can say."""
    spec = mapping(document, "spec", "")
    for key in _ONLY_V1:
        spec.pop(key, None)
    _say_hops(spec, _HOPS_V1)
    kept = of_ubuntu(document, spec)
    taken(document, UBUNTU)
    if kept is not None:
        document["spec"] = dict(kept)
        return
    terms = mappings(spec, "amiSelectorTerms", "spec")
    alias = next(
        (text(t, "alias", f"spec.amiSelectorTerms[{n}]") for n, t in enumerate(terms) if "alias" in t), ""
    )
    named = FAMILIES.get(alias.partition("@")[0].lower())
    family = text(spec, "amiFamily", "spec") or (named.value if named else "")
    spec["amiFamily"] = family if family in _BY_ALIAS else AmiFamily.CUSTOM.value
    without = [{k: v for k, v in t.items() if k != "ssmParameter"} for t in terms if "alias" not in t]
    left = [term for term in without if term]
    if left:
        spec["amiSelectorTerms"] = left
    else:
        spec.pop("amiSelectorTerms", None)


def of_ubuntu(document: Tree, spec: Mapping[str, Any]) -> Tree | None:
    """Return what a node class of v1 says that stands for one of Ubuntu, None where it does not.

    It does by its annotation, as long as its family is still the one that was put in Ubuntu's place.
    """
    words = (annotated(document, UBUNTU) or "").split(",")
    if FAMILY_WORD not in words or spec.get("amiFamily") != _AL2:
        return None
    made = {**spec, "amiFamily": _UBUNTU}
    if NO_TERMS_WORD in words and spec.get("amiSelectorTerms") == PLACEHOLDER:
        del made["amiSelectorTerms"]
    if DEVICES_WORD in words and spec.get("blockDeviceMappings") == UBUNTU_DEVICES:
        del made["blockDeviceMappings"]
    return made


def _from_ubuntu(document: Tree, spec: Tree) -> None:
    words = [FAMILY_WORD]
    spec["amiFamily"] = _AL2
    if spec.get("blockDeviceMappings") is None:
        words.append(DEVICES_WORD)
        spec["blockDeviceMappings"] = deepcopy(UBUNTU_DEVICES)
    if not spec.get("amiSelectorTerms"):
        words.append(NO_TERMS_WORD)
        spec["amiSelectorTerms"] = deepcopy(PLACEHOLDER)
    annotate_by_text(document, UBUNTU, ",".join(words))


def _say_hops(spec: Tree, hops: int) -> None:
    """Write the default of the source version, where no value is set: the target's default differs."""
    options = mapping(spec, "metadataOptions", "spec")
    if options.get(_HOPS) is None:
        spec["metadataOptions"] = {**options, _HOPS: hops}
