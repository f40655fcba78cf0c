"""Metrics of status conditions, as Karpenter's status controllers have them, by kind and for all kinds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from treenail.domain.telemetry.metric import Metric, MetricKind, counter, shown

# 0.5 s to 2 h 16 min.
_BUCKETS: Final = tuple(0.5 * 2**n for n in range(15))


def _histogram(name: str, about: str, *labels: str) -> Metric:
    return Metric(
        name=name, kind=MetricKind.HISTOGRAM, help=about, labels=labels, buckets=_BUCKETS, unit="seconds"
    )


@dataclass(frozen=True, slots=True)
class ConditionMetrics:
    """The six metrics of a kind; `added` are the labels that tell its objects apart."""

    added: tuple[str, ...]
    count: Metric
    current_seconds: Metric
    transitions: Metric
    transition_seconds: Metric
    terminating_seconds: Metric
    termination_duration: Metric

    @staticmethod
    def of(stem: str, *added: str) -> ConditionMetrics:
        """Declare those whose names begin with `stem`."""
        at = ("type", "status", "reason", *added)
        return ConditionMetrics(
            added=added,
            count=shown(
                f"{stem}_status_condition_count",
                "Objects with a condition of a status; those as it should be are added up, without a name.",
                *("name", *at),
            ),
            current_seconds=shown(
                f"{stem}_status_condition_current_status_seconds",
                "For how long a condition has had a status that it should not keep.",
                *("name", *at),
            ),
            transitions=counter(
                f"{stem}_status_condition_transitions_total", "Changes of the status of conditions.", *at
            ),
            transition_seconds=_histogram(
                f"{stem}_status_condition_transition_seconds",
                "How long a condition had a status, until that changed.",
                *("type", "status", *added),
            ),
            terminating_seconds=shown(
                f"{stem}_termination_current_time_seconds",
                "How long ago an object was deleted that is still there.",
                *("name", *added),
            ),
            termination_duration=_histogram(
                f"{stem}_termination_duration_seconds",
                "From the deletion of an object until it was gone.",
                *added,
            ),
        )

    @property
    def all(self) -> tuple[Metric, ...]:
        """All six."""
        return (
            *(self.count, self.current_seconds, self.transitions),
            *(self.transition_seconds, self.terminating_seconds, self.termination_duration),
        )


_OF_NODES: Final = ("karpenter_k8s_aws_ec2nodeclass", "karpenter_sh_nodepool")
NODE_CLAIM: Final = "NodeClaim"
NODE_POOL: Final = "NodePool"
NODE: Final = "Node"
NODE_CLASS: Final = "EC2NodeClass"

OF_KIND: Final[dict[str, ConditionMetrics]] = {
    NODE_CLAIM: ConditionMetrics.of("operator_nodeclaim", *_OF_NODES),
    NODE_POOL: ConditionMetrics.of("operator_nodepool"),
    NODE: ConditionMetrics.of("operator_node", *_OF_NODES, "karpenter_sh_initialized"),
    NODE_CLASS: ConditionMetrics.of("operator_ec2nodeclass"),
}
# Karpenter writes these beside the others, but not for nodes.
OF_ALL: Final = ConditionMetrics.of("operator", "group", "kind")
GROUPS: Final = {
    NODE_CLAIM: "karpenter.sh",
    NODE_POOL: "karpenter.sh",
    NODE_CLASS: "karpenter.k8s.aws",
}
CONDITION_METRICS: Final[tuple[Metric, ...]] = tuple(
    metric for family in (*OF_KIND.values(), OF_ALL) for metric in family.all
)
