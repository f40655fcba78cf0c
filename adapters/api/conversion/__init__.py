"""Conversion of karpenter.sh and karpenter.k8s.aws objects between API versions, with nothing lost."""

from __future__ import annotations

from treenail.adapters.api.conversion.annotations import KUBELET, NODE_CLASS_REFERENCE, UBUNTU
from treenail.adapters.api.conversion.convert import converted, kept_fields
from treenail.adapters.api.conversion.errors import ConversionError

__all__ = [
    "KUBELET",
    "NODE_CLASS_REFERENCE",
    "UBUNTU",
    "ConversionError",
    "converted",
    "kept_fields",
]
