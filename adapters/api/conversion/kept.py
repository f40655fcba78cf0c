"""Converted objects: fields that their annotations keep count like any other field."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import msgspec
from msgspec import structs

from treenail.adapters.api.aws.ec2_node_classes import beta_ec2_node_class, ec2_node_class
from treenail.adapters.api.aws.launch_options import BlockDeviceMappingModel
from treenail.adapters.api.aws.v1_node_class import EC2NodeClassModel
from treenail.adapters.api.aws.v1_selectors import AmiTermModel
from treenail.adapters.api.aws.v1beta1_node_class import BetaEC2NodeClassModel
from treenail.adapters.api.conversion.annotations import KUBELET, UBUNTU, V1_FIELDS
from treenail.adapters.api.conversion.convert import V1, converted
from treenail.adapters.api.conversion.errors import ConversionError
from treenail.adapters.api.conversion.node_class_specs import (
    DEVICES_WORD,
    FAMILY_WORD,
    NO_TERMS_WORD,
    PLACEHOLDER,
    UBUNTU_DEVICES,
)
from treenail.adapters.api.conversion.trees import Tree
from treenail.adapters.api.errors import FieldError
from treenail.adapters.api.karpenter.v1_node_claim import NodeClaimModel, node_claim
from treenail.adapters.api.karpenter.v1_node_pool import NodePoolModel, node_pool
from treenail.adapters.api.karpenter.v1beta1_node_claim import BetaNodeClaimModel, beta_node_claim
from treenail.adapters.api.karpenter.v1beta1_node_pool import BetaNodePoolModel, beta_node_pool
from treenail.adapters.api.kubelet import KubeletModel
from treenail.adapters.api.metadata import StrictObject
from treenail.adapters.api.model import read
from treenail.adapters.api.reading import Reading, Translation
from treenail.domain.model.node_classes import AmiFamily, Kubelet
from treenail.domain.model.node_pools import NodePool

_PLACEHOLDER: Final = msgspec.convert(PLACEHOLDER, tuple[AmiTermModel, ...])
_DEVICES: Final = msgspec.convert(UBUNTU_DEVICES, tuple[BlockDeviceMappingModel, ...])
_AT_KUBELET: Final = f"metadata.annotations[{KUBELET}]"


def node_pool_as_kept(model: NodePoolModel, reading: Reading) -> Translation:
    """Return the pool, with the kubelet's settings that v1beta1 has in pools; FieldError as `node_pool`."""
    made = node_pool(model, reading)
    kubelet = _kubelet(model.metadata.annotations.get(KUBELET))
    if kubelet is None:
        return made
    objects = tuple(
        replace(one, kubelet=kubelet) if isinstance(one, NodePool) else one for one in made.objects
    )
    return replace(made, objects=objects)


def node_class_as_kept(model: EC2NodeClassModel, reading: Reading) -> Translation:
    """Return the node class, one of Ubuntu where it stands for that; FieldError as `ec2_node_class`."""
    spec, words = model.spec, model.metadata.annotations.get(UBUNTU, "").split(",")
    if FAMILY_WORD not in words or spec.ami_family != AmiFamily.AL2.value:
        return ec2_node_class(model, reading)
    own_terms, own_devices = spec.ami_selector_terms, spec.block_device_mappings
    made = structs.replace(
        spec,
        ami_family=AmiFamily.UBUNTU.value,
        ami_selector_terms=() if NO_TERMS_WORD in words and own_terms == _PLACEHOLDER else own_terms,
        block_device_mappings=() if DEVICES_WORD in words and own_devices == _DEVICES else own_devices,
    )
    return ec2_node_class(structs.replace(model, spec=made), reading)


def beta_node_pool_as_kept(model: BetaNodePoolModel, reading: Reading) -> Translation:
    """Return the pool, with what only v1 can say; FieldError as `beta_node_pool`."""
    made = _in_v1(model)
    if made is None:
        return beta_node_pool(model, reading)
    return node_pool_as_kept(read(NodePoolModel, made), reading)


def beta_node_claim_as_kept(model: BetaNodeClaimModel, reading: Reading) -> Translation:
    """Return the claim, with what only v1 can say; FieldError as `beta_node_claim`."""
    made = _in_v1(model)
    return (
        beta_node_claim(model, reading) if made is None else node_claim(read(NodeClaimModel, made), reading)
    )


def beta_node_class_as_kept(model: BetaEC2NodeClassModel, reading: Reading) -> Translation:
    """Return the node class, with what only v1 can say; FieldError as `beta_ec2_node_class`."""
    made = _in_v1(model)
    if made is None:
        return beta_ec2_node_class(model, reading)
    return node_class_as_kept(read(EC2NodeClassModel, made), reading)


def _in_v1(model: StrictObject) -> Tree | None:
    """Return what the object is in v1, None where nothing is kept that only v1 can say."""
    if V1_FIELDS not in model.metadata.annotations:
        return None
    try:
        return converted(msgspec.json.decode(msgspec.json.encode(model)), V1)
    except ConversionError as error:
        raise FieldError(error.field, error.problem) from None


def _kubelet(text: str | None) -> Kubelet | None:
    if text is None:
        return None
    try:
        return read(KubeletModel, text.encode()).value("")
    except FieldError as problem:
        raise FieldError(_AT_KUBELET, f"{problem.field.lstrip('.')} {problem.problem}".strip()) from None
    except msgspec.DecodeError:
        raise FieldError(_AT_KUBELET, "is not JSON") from None
