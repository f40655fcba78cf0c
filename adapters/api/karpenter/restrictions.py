"""Labels that pools may not set or ask for, because Karpenter or Kubernetes gives them."""

from __future__ import annotations

from typing import Final

from treenail.adapters.api.diagnosis import meant, quoted
from treenail.adapters.api.errors import FieldError
from treenail.adapters.api.names import domain_of
from treenail.domain.model import labels
from treenail.domain.model.node_pools import Generation

_KARPENTER: Final = "karpenter.sh"
_AWS: Final = labels.AWS.rstrip("/")
KUBERNETES_DOMAINS: Final = ("kubernetes.io", "k8s.io")
# Within the domains of Kubernetes, those that v1alpha5 and v1beta1 leave to users.
LEFT_TO_USERS: Final = ("kops.k8s.io", "node.kubernetes.io", "node-restriction.kubernetes.io")

# Labels of AWS that Karpenter knows beside the well-known ones; no instance type of ours has them.
AWS_ONLY: Final = frozenset(
    labels.AWS + name
    for name in (
        "capacity-reservation-id",
        "capacity-reservation-interruptible",
        "capacity-reservation-type",
        "ec2nodeclass",
        "instance-ami-id",
        "instance-pods",
        "nitro-sandbox",
    )
)


def check_allowed(key: str, at: str, generation: Generation) -> None:
    """Raise FieldError if a pool of `generation` may not use the label `key` at the path `at`."""
    name = labels.normalized(key)
    if name in (labels.HOSTNAME, labels.NODEPOOL, labels.PROVISIONER):
        raise FieldError(at, f"{quoted(key)} is restricted: it is given to every node by itself")
    if name in labels.WELL_KNOWN:
        return
    if labels.of_domain(name, _KARPENTER):
        raise FieldError(at, f"{quoted(key)} is restricted: labels of {_KARPENTER} are not for users")
    if labels.of_domain(name, _AWS) and name not in AWS_ONLY:
        known = sorted(k for k in (*labels.WELL_KNOWN, *AWS_ONLY) if k.startswith(labels.AWS))
        raise FieldError(at, f"{quoted(key)} is no label of {_AWS}{meant(name, known)}")
    if generation is not Generation.V1 and _of_kubernetes(name):
        raise FieldError(at, f"{quoted(key)} is restricted: labels of {domain_of(name)} are not for users")


def check_allowed_beside_pool(key: str, at: str) -> None:
    """Raise FieldError if a node overlay or a NodeClaim may not use the label `key`; they may name a pool."""
    if labels.normalized(key) != labels.NODEPOOL:
        check_allowed(key, at, Generation.V1)


def _of_kubernetes(name: str) -> bool:
    if any(domain_of(name).endswith(one) for one in LEFT_TO_USERS):
        return False
    return any(labels.of_domain(name, one) for one in KUBERNETES_DOMAINS)
