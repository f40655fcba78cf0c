"""karpenter.k8s.aws/v1beta1 EC2NodeClass. It means what the one of v1 means that it is converted to."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal, TypeAlias

from msgspec import Meta, field

from treenail.adapters.api.aws.launch_options import (
    BlockDeviceMappingModel,
    InstanceTags,
    MetadataOptionsModel,
    block_devices,
    check_tags,
    metadata_options,
)
from treenail.adapters.api.aws.v1_selectors import (
    AmiTermModel,
    ImageId,
    SecurityGroupTermModel,
    SubnetTermModel,
    Tags,
    ami_terms,
    security_group_terms,
    subnet_terms,
)
from treenail.adapters.api.errors import FieldError
from treenail.adapters.api.metadata import StrictObject
from treenail.adapters.api.model import NotEmpty, StrictModel
from treenail.adapters.api.reading import Reading, Translation
from treenail.domain.node_classes import AmiFamily, MetadataOptions, NodeClass, NodeClassRef, SelectorTerm

RESTRICTED_TAGS: Final = (
    "karpenter.sh/nodepool",
    "karpenter.sh/nodeclaim",
    "karpenter.k8s.aws/ec2nodeclass",
    "karpenter.sh/provisioner-name",
    "karpenter.sh/managed-by",
)
HOP_LIMIT: Final = 2
_TERMS: Final = Meta(min_length=1, max_length=30)
_METADATA_OPTIONS: Final = MetadataOptions(http_put_response_hop_limit=HOP_LIMIT)
# Families whose own images v1 has no alias for.
_WITHOUT_ALIAS: Final = (AmiFamily.CUSTOM, AmiFamily.UBUNTU)

BetaFamily: TypeAlias = Literal[
    "AL2", "AL2023", "Bottlerocket", "Ubuntu", "Custom", "Windows2019", "Windows2022"
]


class BetaAmiTermModel(StrictModel):
    """Images by what EC2 knows of them."""

    tags: Tags | None = None
    id: ImageId | None = None
    name: str | None = None
    owner: str | None = None

    @property
    def of_v1(self) -> AmiTermModel:
        return AmiTermModel(tags=self.tags, id=self.id, name=self.name, owner=self.owner)


class BetaEC2NodeClassSpecModel(StrictModel, kw_only=True):
    """The spec of an EC2NodeClass of v1beta1."""

    subnet_selector_terms: Annotated[tuple[SubnetTermModel, ...], _TERMS]
    security_group_selector_terms: Annotated[tuple[SecurityGroupTermModel, ...], _TERMS]
    ami_selector_terms: Annotated[tuple[BetaAmiTermModel, ...], Meta(max_length=30)] = ()
    ami_family: BetaFamily
    role: NotEmpty | None = None
    instance_profile: NotEmpty | None = None
    user_data: str = ""
    context: str = ""
    tags: InstanceTags = field(default_factory=dict)
    block_device_mappings: Annotated[tuple[BlockDeviceMappingModel, ...], Meta(max_length=50)] = ()
    metadata_options: MetadataOptionsModel | None = None
    instance_store_policy: Literal["RAID0"] | None = None
    detailed_monitoring: bool | None = None
    associate_public_ip_address: bool | None = field(default=None, name="associatePublicIPAddress")


class BetaEC2NodeClassModel(StrictObject, kw_only=True):
    """karpenter.k8s.aws/v1beta1 EC2NodeClass. Its status is ours to write and not to read."""

    spec: BetaEC2NodeClassSpecModel
    status: dict[str, Any] = field(default_factory=dict)


def beta_ec2_node_class(model: BetaEC2NodeClassModel, _reading: Reading) -> Translation:
    """Return the node class; FieldError says what is wrong with it."""
    meta, spec = model.metadata, model.spec
    meta.validate()
    if (spec.role is None) == (spec.instance_profile is None):
        raise FieldError("spec", "needs exactly one of role and instanceProfile")
    check_tags(spec.tags, "spec.tags", restricted=RESTRICTED_TAGS, prefix="kubernetes.io/cluster")
    own = NodeClass(
        ref=NodeClassRef("karpenter.k8s.aws", "EC2NodeClass", meta.name),
        uid=meta.uid,
        resource_version=meta.version,
        generation=meta.generation,
        ami_family=AmiFamily(spec.ami_family),
        ami_terms=_images(spec),
        subnet_terms=subnet_terms(spec.subnet_selector_terms, "spec.subnetSelectorTerms"),
        security_group_terms=security_group_terms(
            spec.security_group_selector_terms, "spec.securityGroupSelectorTerms"
        ),
        role=spec.role or "",
        instance_profile=spec.instance_profile or "",
        user_data=spec.user_data,
        tags=spec.tags,
        block_devices=block_devices(spec.block_device_mappings, "spec.blockDeviceMappings"),
        metadata_options=metadata_options(spec.metadata_options, _METADATA_OPTIONS),
        instance_store_raid0=spec.instance_store_policy == "RAID0",
        detailed_monitoring=bool(spec.detailed_monitoring),
        associate_public_ip=spec.associate_public_ip_address,
        context=spec.context,
        deleting=meta.deletion_timestamp is not None,
        finalizers=meta.finalizers,
    )
    return Translation(objects=(own,))


def _images(spec: BetaEC2NodeClassSpecModel) -> tuple[SelectorTerm, ...]:
    """Return the terms; without any, the latest image of the family is meant."""
    family, at = AmiFamily(spec.ami_family), "spec.amiSelectorTerms"
    if spec.ami_selector_terms:
        return ami_terms([term.of_v1 for term in spec.ami_selector_terms], at)
    if family is AmiFamily.CUSTOM:
        raise FieldError(at, "is missing: amiFamily Custom needs it")
    return () if family in _WITHOUT_ALIAS else (SelectorTerm(alias=f"{family.value.lower()}@latest"),)
