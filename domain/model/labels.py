"""Names of labels, annotations and finalizers, as Kubernetes, Karpenter and we write them."""

from __future__ import annotations

import re
from typing import Final

_INTEGER = re.compile(r"[+-]?[0-9]{1,63}")
LARGEST_INTEGER: Final = 2**63 - 1
SMALLEST_INTEGER: Final = -(2**63)

INSTANCE_TYPE: Final = "node.kubernetes.io/instance-type"
ARCH: Final = "kubernetes.io/arch"
OS: Final = "kubernetes.io/os"
ZONE: Final = "topology.kubernetes.io/zone"
REGION: Final = "topology.kubernetes.io/region"
HOSTNAME: Final = "kubernetes.io/hostname"
WINDOWS_BUILD: Final = "node.kubernetes.io/windows-build"
# No label but a field of nodes that affinity may name: it stands among labels under a key that none can have.
NODE_NAME: Final = "field metadata.name"

NODEPOOL: Final = "karpenter.sh/nodepool"
PROVISIONER: Final = "karpenter.sh/provisioner-name"
CAPACITY_TYPE: Final = "karpenter.sh/capacity-type"
REGISTERED: Final = "karpenter.sh/registered"
INITIALIZED: Final = "karpenter.sh/initialized"
DO_NOT_SYNC_TAINTS: Final = "karpenter.sh/do-not-sync-taints"
NODECLAIM: Final = "karpenter.sh/nodeclaim"

ZONE_ID: Final = "topology.k8s.aws/zone-id"
AWS: Final = "karpenter.k8s.aws/"
INSTANCE_CATEGORY: Final = AWS + "instance-category"
INSTANCE_GENERATION: Final = AWS + "instance-generation"
INSTANCE_FAMILY: Final = AWS + "instance-family"
INSTANCE_SIZE: Final = AWS + "instance-size"
INSTANCE_CPU: Final = AWS + "instance-cpu"
INSTANCE_MEMORY: Final = AWS + "instance-memory"
INSTANCE_TENANCY: Final = AWS + "instance-tenancy"
# Only nodes in reserved capacity have these.
RESERVATION_ID: Final = AWS + "capacity-reservation-id"
RESERVATION_TYPE: Final = AWS + "capacity-reservation-type"
RESERVATION_INTERRUPTIBLE: Final = AWS + "capacity-reservation-interruptible"
# Only nodes in a placement group have these; the partition those alone of a group that is parted.
PLACEMENT_GROUP: Final = AWS + "placement-group-id"
PARTITION: Final = AWS + "placement-group-partition"
OF_RESERVATIONS: Final = (RESERVATION_ID, RESERVATION_TYPE, RESERVATION_INTERRUPTIBLE)

SPOT: Final = "spot"
ON_DEMAND: Final = "on-demand"
RESERVED: Final = "reserved"

PRICE_OVERLAY_APPLIED: Final = "karpenter.sh/price-overlay-applied"
CAPACITY_OVERLAY_APPLIED: Final = "karpenter.sh/capacity-overlay-applied"
# The drivers of devices for which a node is bought: it is in use once they have published these.
REQUESTED_DRIVERS: Final = "karpenter.sh/requested-dra-drivers"
MIN_VALUES_RELAXED: Final = "karpenter.sh/nodeclaim-min-values-relaxed"
TERMINATION_TIMESTAMP: Final = "karpenter.sh/nodeclaim-termination-timestamp"
DO_NOT_DISRUPT: Final = "karpenter.sh/do-not-disrupt"
DO_NOT_EVICT: Final = "karpenter.sh/do-not-evict"
DO_NOT_CONSOLIDATE: Final = "karpenter.sh/do-not-consolidate"
POD_DELETION_COST: Final = "controller.kubernetes.io/pod-deletion-cost"
TRACEPARENT: Final = "tracing.k8s.io/traceparent"
LAUNCH: Final = "treenail.sh/launch"
CAUSE: Final = "treenail.sh/cause"
END: Final = "treenail.sh/end"
ENDS_AT: Final = "treenail.sh/instance-ends-at"
PRICE: Final = "treenail.sh/price"
PRICE_FROM: Final = "treenail.sh/price-from-overlay"
# What the node of a claim was bought to save, when, and in place of which nodes.
CONSOLIDATED: Final = "treenail.sh/consolidated"
# On a claim: Karpenter deletes instance profiles that it made and that neither a claim nor a class names.
INSTANCE_PROFILE: Final = AWS + "instance-profile-name"
# On a pool: what each of its nodes costs beside its price and its volumes, $/h.
NODE_OVERHEAD_COST: Final = "treenail.sh/node-overhead-cost"
# On a pool: within which time a consolidation of its nodes must have saved what it costs.
LAUNCH_ATTEMPTS: Final = "treenail.sh/launch-attempts"
MIN_NODES: Final = "treenail.sh/min-nodes"
PAYBACK: Final = "treenail.sh/payback"
# On a pool: by how much more its nodes may be replaced with nodes of a pool of higher weight, such as 20%.
RETURN: Final = "treenail.sh/return"
MADE_EARLY: Final = "treenail.sh/made-early"
# On a workload: "pods" where no nodes are wanted for pods that do not exist yet.
PROVISION_FOR: Final = "treenail.sh/provision-for"
EXCLUDE_FROM_LOAD_BALANCERS: Final = "node.kubernetes.io/exclude-from-external-load-balancers"
# Since when a node is empty, in the old API.
EMPTY_SINCE: Final = "karpenter.sh/emptiness-timestamp"

TERMINATION_FINALIZER: Final = "karpenter.sh/termination"
NODE_CLASS_FINALIZER: Final = "karpenter.k8s.aws/termination"

# Labels whose meaning all agree on: every node has those of them that apply to it.
WELL_KNOWN: Final[frozenset[str]] = frozenset(
    {NODEPOOL, PROVISIONER, ZONE, REGION, INSTANCE_TYPE, ARCH, OS, CAPACITY_TYPE, WINDOWS_BUILD, ZONE_ID}
    | {*OF_RESERVATIONS, PLACEMENT_GROUP, PARTITION}
    | {
        AWS + name
        for name in (
            "instance-accelerator-count",
            "instance-accelerator-manufacturer",
            "instance-accelerator-name",
            "instance-capability-flex",
            "instance-category",
            "instance-cpu",
            "instance-cpu-manufacturer",
            "instance-cpu-sustained-clock-speed-mhz",
            "instance-ebs-bandwidth",
            "instance-encryption-in-transit-supported",
            "instance-family",
            "instance-generation",
            "instance-gpu-count",
            "instance-gpu-manufacturer",
            "instance-gpu-memory",
            "instance-gpu-name",
            "instance-hypervisor",
            "instance-local-nvme",
            "instance-memory",
            "instance-network-bandwidth",
            "instance-size",
            "instance-tenancy",
        )
    }
    # The labels of Karpenter's KWOK provider, so that its catalogue can be packed against.
    | {f"karpenter.kwok.sh/instance-{name}" for name in ("cpu", "memory", "family", "size")}
)

# What a node says of its GPUs: the model, who makes it, the memory of each (MiB), and how many there are.
OF_GPUS: Final = tuple(
    f"karpenter.k8s.aws/instance-gpu-{name}" for name in ("name", "manufacturer", "memory", "count")
)

# Labels a pod may select on although the pool does not define them: the launch decides their value. It does
# not decide on pools: a node has the label of its own pool's generation for sure, and never the other.
LEFT_OPEN: Final = WELL_KNOWN - {NODEPOOL, PROVISIONER}

# Older names of the same labels, read everywhere as the newer.
NORMALIZED: Final = {
    "failure-domain.beta.kubernetes.io/zone": ZONE,
    "failure-domain.beta.kubernetes.io/region": REGION,
    "beta.kubernetes.io/arch": ARCH,
    "beta.kubernetes.io/os": OS,
    "beta.kubernetes.io/instance-type": INSTANCE_TYPE,
    "topology.ebs.csi.aws.com/zone": ZONE,
}


def normalized(key: str) -> str:
    """Return the present name of the label `key`."""
    return NORMALIZED.get(key, key)


def of_domain(key: str, domain: str) -> bool:
    """Return whether the label `key` is of `domain`, or of one below it."""
    own = key.rpartition("/")[0]
    return own == domain or own.endswith("." + domain)


def integer_of(value: str) -> int | None:
    """Return the integer a label's value writes in 64 bits, None where it writes none."""
    if _INTEGER.fullmatch(value) is None:
        return None
    number = int(value)
    return number if SMALLEST_INTEGER <= number <= LARGEST_INTEGER else None
