"""Which of a pod's constraints packing obeys. Pods with others it refuses, rather than break them."""

from __future__ import annotations

from treenail.domain.pods import PodSpec


def not_supported(spec: PodSpec) -> str | None:
    """Name the first hard constraint of `spec` that packing does not obey, None where it obeys all.

    Soft ones (ScheduleAnyway, preferred pod affinity) are wishes of the scheduler's: they do not count.
    """
    hard_spread = next((s for s in spec.spread if s.hard), None)
    if hard_spread is not None:
        return f"topology spread over {hard_spread.topology_key} (DoNotSchedule)"
    required = next((t for t in spec.pod_affinity if t.weight is None), None)
    if required is not None:
        kind = "anti-affinity" if required.anti else "affinity"
        return f"required pod {kind} over {required.topology_key}"
    if spec.host_ports:
        return f"host port {spec.host_ports[0].port}/{spec.host_ports[0].protocol}"
    if spec.volumes:
        return f"volume {spec.volumes[0].name}"
    if spec.resource_claims:
        return f"resource claim {spec.resource_claims[0]}"
    return None
