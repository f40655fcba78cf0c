"""EC2NodeClasses of v1 and v1beta1, translated to node classes of the domain."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from treenail.adapters.api.aws.launch_options import block_devices, check_tags, metadata_options
from treenail.adapters.api.aws.v1_node_class import (
    RESTRICTED_TAGS,
    EC2NodeClassModel,
    EC2NodeClassSpecModel,
    network_interfaces,
)
from treenail.adapters.api.aws.v1_selectors import (
    ami_family,
    ami_terms,
    reservation_terms,
    security_group_terms,
    subnet_terms,
)
from treenail.adapters.api.aws.v1beta1_node_class import (
    BETA_RESTRICTED_TAGS,
    HOP_LIMIT,
    BetaEC2NodeClassModel,
    BetaEC2NodeClassSpecModel,
)
from treenail.adapters.api.errors import FieldError
from treenail.adapters.api.metadata import ObjectMeta
from treenail.adapters.api.reading import Reading, Translation
from treenail.domain.model.node_classes import (
    DEFAULT_KUBELET,
    AmiFamily,
    MetadataOptions,
    NodeClass,
    NodeClassRef,
    SelectorTerm,
)

_AMI_TERMS: Final = "spec.amiSelectorTerms"
# Families whose own images v1 has no alias for.
_WITHOUT_ALIAS: Final = (AmiFamily.CUSTOM, AmiFamily.UBUNTU)


def ec2_node_class(model: EC2NodeClassModel, _reading: Reading) -> Translation:
    """Return the node class of v1; FieldError says what is wrong with it."""
    spec = model.spec
    _check(model.metadata, spec, RESTRICTED_TAGS)
    images = ami_terms(spec.ami_selector_terms, _AMI_TERMS)
    family = ami_family(AmiFamily(spec.ami_family) if spec.ami_family else None, images, "spec")
    own = replace(
        _node_class(model.metadata, spec, family, images, MetadataOptions()),
        kubelet=spec.kubelet.value("spec.kubelet") if spec.kubelet else DEFAULT_KUBELET,
        ip_prefix_count=spec.ip_prefix_count or 0,
        network_interfaces=network_interfaces(spec.network_interfaces, "spec.networkInterfaces"),
        connection_tracking=spec.connection_tracking.value("spec.connectionTracking")
        if spec.connection_tracking
        else None,
        nested_virtualization=(spec.cpu_options and spec.cpu_options.nested_virtualization) or "",
        placement_group=spec.placement_group_selector.value("spec.placementGroupSelector")
        if spec.placement_group_selector
        else None,
        reservation_terms=reservation_terms(
            spec.capacity_reservation_selector_terms, "spec.capacityReservationSelectorTerms"
        ),
    )
    return Translation(objects=(own,))


def beta_ec2_node_class(model: BetaEC2NodeClassModel, _reading: Reading) -> Translation:
    """Return the node class of v1beta1; FieldError says what is wrong with it.

    It equals the node class of the v1 object that this one is converted to.
    """
    meta, spec = model.metadata, model.spec
    _check(meta, spec, BETA_RESTRICTED_TAGS)
    options = MetadataOptions(http_put_response_hop_limit=HOP_LIMIT)
    own = _node_class(meta, spec, AmiFamily(spec.ami_family), _beta_images(spec), options)
    return Translation(objects=(own,))


def _check(
    meta: ObjectMeta, spec: EC2NodeClassSpecModel | BetaEC2NodeClassSpecModel, restricted: Iterable[str]
) -> None:
    meta.validate()
    if (spec.role is None) == (spec.instance_profile is None):
        raise FieldError("spec", "needs exactly one of role and instanceProfile")
    check_tags(spec.tags, "spec.tags", restricted=restricted, prefix="kubernetes.io/cluster")


def _node_class(
    meta: ObjectMeta,
    spec: EC2NodeClassSpecModel | BetaEC2NodeClassSpecModel,
    family: AmiFamily,
    images: tuple[SelectorTerm, ...],
    options: MetadataOptions,
) -> NodeClass:
    """Return what both versions say; `options` is what they leave out of the metadata options."""
    return NodeClass(
        ref=NodeClassRef("karpenter.k8s.aws", "EC2NodeClass", meta.name),
        uid=meta.uid,
        resource_version=meta.version,
        generation=meta.generation,
        ami_family=family,
        ami_terms=images,
        subnet_terms=subnet_terms(spec.subnet_selector_terms, "spec.subnetSelectorTerms"),
        security_group_terms=security_group_terms(
            spec.security_group_selector_terms, "spec.securityGroupSelectorTerms"
        ),
        role=spec.role or "",
        instance_profile=spec.instance_profile or "",
        user_data=spec.user_data,
        tags=spec.tags,
        block_devices=block_devices(spec.block_device_mappings, "spec.blockDeviceMappings"),
        metadata_options=metadata_options(spec.metadata_options, options),
        instance_store_raid0=spec.instance_store_policy == "RAID0",
        detailed_monitoring=bool(spec.detailed_monitoring),
        associate_public_ip=spec.associate_public_ip_address,
        context=spec.context,
        deleting=meta.deletion_timestamp is not None,
        finalizers=meta.finalizers,
    )


def _beta_images(spec: BetaEC2NodeClassSpecModel) -> tuple[SelectorTerm, ...]:
    """Return the terms; without any, the latest image of the family is meant."""
    family = AmiFamily(spec.ami_family)
    if spec.ami_selector_terms:
        return ami_terms([term.of_v1 for term in spec.ami_selector_terms], _AMI_TERMS)
    if family is AmiFamily.CUSTOM:
        raise FieldError(_AMI_TERMS, "is missing: amiFamily Custom needs it")
    return () if family in _WITHOUT_ALIAS else (SelectorTerm(alias=f"{family.value.lower()}@latest"),)
