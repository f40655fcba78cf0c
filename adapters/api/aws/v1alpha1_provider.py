"""The provider of v1alpha1: the spec of an AWSNodeTemplate, or a part of a Provisioner."""

from __future__ import annotations

from typing import Final, Literal

from msgspec import field

from treenail.adapters.api.aws.launch_options import (
    BlockDeviceMappingModel,
    InstanceTags,
    MetadataOptionsModel,
    block_devices,
    check_tags,
    metadata_options,
)
from treenail.adapters.api.aws.v1alpha1_selectors import resource_terms
from treenail.adapters.api.errors import FieldError
from treenail.adapters.api.metadata import ObjectMeta
from treenail.adapters.api.model import NotEmpty, StrictModel
from treenail.domain.model.node_classes import (
    AmiFamily,
    MetadataOptions,
    NodeClass,
    NodeClassRef,
    SelectorTerm,
)

RESTRICTED_TAGS: Final = ("karpenter.sh/provisioner-name", "karpenter.sh/managed-by")
_METADATA_OPTIONS: Final = MetadataOptions(http_put_response_hop_limit=2)


class ProviderModel(StrictModel, kw_only=True):
    """The settings that instances are made with. `apiVersion` and `kind` are allowed and have no effect."""

    api_version: str = ""
    kind: str = ""
    ami_family: Literal["AL2", "Bottlerocket", "Ubuntu", "Windows2019", "Windows2022", "Custom"] | None = None
    context: str = ""
    instance_profile: NotEmpty | None = None
    subnet_selector: dict[str, str] = field(default_factory=dict)
    security_group_selector: dict[str, str] = field(default_factory=dict)
    tags: InstanceTags = field(default_factory=dict)
    launch_template: NotEmpty | None = None
    metadata_options: MetadataOptionsModel | None = None
    block_device_mappings: tuple[BlockDeviceMappingModel, ...] = ()

    def check(self, at: str) -> None:
        """Raise FieldError unless its fields go together."""
        if not self.subnet_selector:
            raise FieldError(f"{at}.subnetSelector", "is missing")
        check_tags(self.tags, f"{at}.tags", restricted=RESTRICTED_TAGS, prefix="kubernetes.io/cluster/")
        if self.launch_template is None:
            if not self.security_group_selector:
                raise FieldError(
                    f"{at}.securityGroupSelector", "is missing: it is needed without launchTemplate"
                )
            self._check_names(at)
            return
        for name, value in (
            ("amiFamily", self.ami_family),
            ("blockDeviceMappings", self.block_device_mappings),
            ("instanceProfile", self.instance_profile),
            ("metadataOptions", self.metadata_options),
            ("securityGroupSelector", self.security_group_selector),
        ):
            if value:
                raise FieldError(f"{at}.{name}", "cannot stand beside launchTemplate, which says it")

    def _check_names(self, at: str) -> None:
        for number, device in enumerate(self.block_device_mappings):
            if not device.device_name:
                raise FieldError(f"{at}.blockDeviceMappings[{number}].deviceName", "is missing")


def inline_provider(model: ProviderModel, ref: NodeClassRef, meta: ObjectMeta, at: str) -> NodeClass:
    """Return the node class of a provider within a Provisioner; FieldError says what is wrong with it."""
    if model.ami_family == "Custom":
        raise FieldError(f"{at}.amiFamily", "Custom needs an amiSelector, and so an AWSNodeTemplate")
    return provider(model, ref, meta, at)


def provider(
    model: ProviderModel,
    ref: NodeClassRef,
    meta: ObjectMeta,
    at: str,
    *,
    ami_terms: tuple[SelectorTerm, ...] = (),
    user_data: str = "",
    detailed_monitoring: bool = False,
) -> NodeClass:
    """Return the node class at the path `at`; FieldError says what is wrong with it."""
    model.check(at)
    return NodeClass(
        ref=ref,
        uid=meta.uid,
        resource_version=meta.version,
        generation=meta.generation,
        ami_family=AmiFamily(model.ami_family) if model.ami_family else AmiFamily.AL2,
        ami_terms=ami_terms,
        subnet_terms=resource_terms(model.subnet_selector, f"{at}.subnetSelector", prefix="subnet-"),
        security_group_terms=resource_terms(
            model.security_group_selector, f"{at}.securityGroupSelector", prefix="sg-"
        )
        if model.security_group_selector
        else (),
        instance_profile=model.instance_profile or "",
        launch_template=model.launch_template or "",
        user_data=user_data,
        tags=model.tags,
        block_devices=block_devices(model.block_device_mappings, f"{at}.blockDeviceMappings"),
        metadata_options=metadata_options(model.metadata_options, _METADATA_OPTIONS),
        detailed_monitoring=detailed_monitoring,
        context=model.context,
        deleting=meta.deletion_timestamp is not None,
    )
