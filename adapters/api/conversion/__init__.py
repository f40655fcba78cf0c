"""Objects of karpenter.sh and karpenter.k8s.aws from one version of the API to another, with nothing lost."""

from __future__ import annotations

from treenail.adapters.api.conversion.annotations import KUBELET, NODE_CLASS_REFERENCE, UBUNTU
from treenail.adapters.api.conversion.convert import converted
from treenail.adapters.api.conversion.errors import ConversionError

__all__ = [
    "KUBELET",
    "NODE_CLASS_REFERENCE",
    "UBUNTU",
    "ConversionError",
    "converted",
]
