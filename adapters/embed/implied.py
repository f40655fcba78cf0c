"""Objects that a cluster adds to manifests: namespaces, claims of StatefulSets, priorities."""

from __future__ import annotations

from dataclasses import replace

from treenail.adapters.api.decoded import Decoded
from treenail.adapters.api.priorities import priority_of
from treenail.domain.model.limit_ranges import completed, problems
from treenail.domain.model.namespaces import NAME_LABEL, Namespace
from treenail.domain.model.pods import Pod, PodSpec
from treenail.domain.model.storage import PersistentVolumeClaim


def namespaces_of(decoded: Decoded) -> tuple[Namespace, ...]:
    """Return all namespaces, those included that are only lived in, by name and each labelled with it."""
    lived_in = (
        *(one.namespace for one in decoded.pods),
        *(one.namespace for one in decoded.deployments),
        *(one.namespace for one in decoded.replica_sets),
        *(one.namespace for one in decoded.stateful_sets),
        *(one.namespace for one in decoded.jobs),
        *(one.namespace for one in decoded.cron_jobs),
        *(one.namespace for one in decoded.daemon_sets),
    )
    written = {one.name: one for one in decoded.namespaces}
    known = {name: Namespace(name=name) for name in lived_in} | written
    return tuple(
        replace(known[name], labels={**known[name].labels, NAME_LABEL: name}) for name in sorted(known)
    )


def volume_claims_of(decoded: Decoded) -> tuple[PersistentVolumeClaim, ...]:
    """Return all claims on storage, those included that StatefulSets would make."""
    made = (
        claim
        for stateful_set in decoded.stateful_sets
        for number in range(stateful_set.replicas)
        for claim in stateful_set.claims_of(number)
    )
    return tuple({claim.key: claim for claim in (*made, *decoded.volume_claims)}.values())


class ManifestAdmission:
    """Completes pods as the API server would. Pods that shared a spec before share one after.

    `warnings` are about what the API server would refuse: it counts as not written.
    """

    def __init__(self, decoded: Decoded) -> None:
        self._classes = {one.name: one for one in decoded.priority_classes}
        self._ranges = sorted(decoded.limit_ranges, key=lambda one: one.name)
        self._prioritized: dict[tuple[int, str], tuple[PodSpec, PodSpec]] = {}
        self._filled: dict[PodSpec, PodSpec] = {}
        self._warnings: dict[str, None] = {}
        # By the gates they wait for: the first pod, and how many there are.
        self._gated: dict[tuple[str, ...], tuple[Pod, int]] = {}

    @property
    def warnings(self) -> tuple[str, ...]:
        """One line each, in the order they came up; pods that wait for the same gates are told of in one."""
        return (*self._warnings, *(_left_out(gates, *some) for gates, some in self._gated.items()))

    def admit(self, pod: Pod) -> Pod:
        """Return a pod with the priority of its class, and affinity that says what it left to labels."""
        spec = self._with_priority(pod)
        if spec.label_keys:
            filled = spec.of_pod(pod.labels)
            spec = self._filled.setdefault(filled, filled)
        return pod if spec is pod.spec else replace(pod, spec=spec)

    def gated(self, pod: Pod) -> bool:
        """Return whether a pod is not to be scheduled yet."""
        gates = pod.spec.scheduling_gates
        if gates:
            first, count = self._gated.get(gates, (pod, 0))
            self._gated[gates] = first, count + 1
        return bool(gates)

    def _with_priority(self, pod: Pod) -> PodSpec:
        key = id(pod.spec), pod.namespace
        known = self._prioritized.get(key)
        if known is None:
            # The spec is held on to, so that its id stays its own.
            known = self._prioritized[key] = pod.spec, self._prioritize(pod)
        return known[1]

    def _within_ranges(self, pod: Pod) -> PodSpec:
        """Return a pod's spec with the defaults of the LimitRanges of its namespace, and without its parts.

        The spec of a pod on a node is already as admission left it.
        """
        if pod.spec.parts is None:
            return pod.spec
        ranges = [one for one in self._ranges if one.namespace == pod.namespace and not pod.node_name]
        parts = completed(pod.spec.parts, ranges)
        for problem in problems(parts, ranges):
            self._warnings[f"Pod {pod.key}: {problem}"] = None
        requests, limits = parts.effective() if ranges else (pod.spec.requests, pod.spec.limits)
        return replace(pod.spec, parts=None, requests=requests, limits=limits)

    def _prioritize(self, pod: Pod) -> PodSpec:
        spec = self._within_ranges(pod)
        try:
            name, priority = priority_of(spec, self._classes)
        except (LookupError, ValueError) as error:
            self._warnings[f"Pod {pod.key}: spec.priorityClassName: {error}"] = None
            return spec
        if (name, priority) == (spec.priority_class, spec.priority):
            return spec
        return replace(spec, priority_class=name, priority=priority)


def _left_out(gates: tuple[str, ...], first: Pod, count: int) -> str:
    waits = f"is left out, as it waits for {', '.join(gates)}"
    if count > 1:
        waits = f"is left out, as are {count - 1} more that wait for {', '.join(gates)}"
    return f"Pod {first.key}: spec.schedulingGates: {waits}"
