"""References to node classes."""

from __future__ import annotations

from typing import Annotated, Final, TypeAlias

from msgspec import Meta

from treenail.adapters.api.diagnosis import quoted
from treenail.adapters.api.errors import FieldError
from treenail.adapters.api.model import NotEmpty, StrictModel
from treenail.adapters.api.names import is_subdomain
from treenail.domain.model.node_classes import NodeClassRef

EC2_NODE_CLASS: Final = "EC2NodeClass"
NODE_TEMPLATE: Final = "AWSNodeTemplate"
AWS: Final = "karpenter.k8s.aws"

# Kinds of node classes by group. KWOK's have no settings we need, so that only references to them are read.
NODE_CLASS_KINDS: Final = {
    AWS: (EC2_NODE_CLASS, NODE_TEMPLATE),
    "karpenter.kwok.sh": ("KWOKNodeClass",),
    # The provider within a Provisioner.
    "karpenter.sh": ("Provisioner",),
}
NO_NODE_CLASS: Final = "is no node class; known are " + ", ".join(
    f"{kind} of {group}" for group, kinds in sorted(NODE_CLASS_KINDS.items()) for kind in kinds
)

Group: TypeAlias = Annotated[str, Meta(pattern=r"^[^/]+$", extra={"wanted": "a group (it has no '/')"})]


class NodeClassRefModel(StrictModel, kw_only=True):
    """A reference to the node class of a v1 pool or claim."""

    group: Group
    kind: NotEmpty
    name: NotEmpty

    def value(self, at: str) -> NodeClassRef:
        """Return the reference; FieldError if it is to no kind of node class."""
        return checked_ref(NodeClassRef(self.group, self.kind, self.name), at)


class NodeClassByVersionModel(StrictModel, kw_only=True):
    """A reference to the node class of a v1beta1 pool or claim: by name alone, an EC2NodeClass."""

    api_version: str = ""
    kind: str = ""
    name: NotEmpty

    def value(self, at: str) -> NodeClassRef:
        """Return the reference; FieldError if it is to no kind of node class."""
        group = self.api_version.partition("/")[0] or AWS
        return checked_ref(NodeClassRef(group, self.kind or EC2_NODE_CLASS, self.name), at)


class ProviderRefModel(StrictModel, kw_only=True):
    """A reference to the node template of a v1alpha5 Provisioner or Machine."""

    api_version: str = ""
    kind: str = ""
    name: NotEmpty

    def value(self, at: str) -> NodeClassRef:
        """Return the reference; FieldError if it is to no kind of node class."""
        kind = self.kind or NODE_TEMPLATE
        group = self.api_version.rpartition("/")[0] or _group_of(kind)
        return checked_ref(NodeClassRef(group, kind, self.name), at)


def provider_of(provisioner: str) -> NodeClassRef:
    """Return the reference to the provider within a Provisioner itself."""
    return NodeClassRef("karpenter.sh", "Provisioner", provisioner)


def checked_ref(ref: NodeClassRef, at: str) -> NodeClassRef:
    """Return `ref`; FieldError if it is to no kind of node class, or its name is none."""
    if ref.kind not in NODE_CLASS_KINDS.get(ref.group, ()):
        raise FieldError(at, f"{quoted(ref.kind)} of {quoted(ref.group)} {NO_NODE_CLASS}")
    if not is_subdomain(ref.name):
        raise FieldError(f"{at}.name", f"{quoted(ref.name)} is not a DNS name")
    return ref


def _group_of(kind: str) -> str:
    return next((group for group, kinds in sorted(NODE_CLASS_KINDS.items()) if kind in kinds), AWS)
