"""Pods as manifests, with one or two containers for all: the domain knows only the sums of requests."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from treenail.adapters.api.core.volume_sources import disk_manifest
from treenail.adapters.api.written.parts import Tree, metadata, quantities, said, time
from treenail.domain.model import labels
from treenail.domain.model.pods import (
    Expression,
    LabelSelector,
    NodeAffinity,
    Pod,
    PodAffinityTerm,
    PodResourceClaim,
    PodSpec,
    PodVolume,
    TopologySpread,
)
from treenail.domain.model.resources import PODS, Resources
from treenail.domain.model.taints import Toleration

_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def pod_manifest(pod: Pod) -> Tree:
    """Write a v1 Pod, with containers that together request what it does."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata(pod, uid=pod.uid if pod.uid != pod.key else "", namespace=pod.namespace),
        "spec": said(nodeName=pod.node_name) | spec_manifest(pod.spec),
        "status": said(
            phase=pod.phase.value,
            conditions=list(_conditions(pod)),
            nominatedNodeName=pod.nominated_node,
            startTime=time(pod.started_at),
            resourceClaimStatuses=[said(name=name, resourceClaimName=made) for name, made in pod.claims_made],
        ),
    }


def _conditions(pod: Pod) -> Iterator[Tree]:
    if pod.node_name:
        yield said(type="PodScheduled", status="True", lastTransitionTime=time(pod.scheduled_at))
    elif pod.unschedulable_since is not None:
        since = time(pod.unschedulable_since)
        yield said(type="PodScheduled", status="False", reason="Unschedulable", lastTransitionTime=since)
    if pod.ready:
        yield said(type="Ready", status="True")


def spec_manifest(spec: PodSpec) -> Tree:
    """Write a pod's spec."""
    return {
        "containers": list(_containers(spec)),
        **said(
            nodeSelector=dict(spec.node_selector),
            affinity=said(
                nodeAffinity=_node_affinity(spec.node_affinity),
                podAffinity=_pod_affinity(t for t in spec.pod_affinity if not t.anti),
                podAntiAffinity=_pod_affinity(t for t in spec.pod_affinity if t.anti),
            ),
            tolerations=[_toleration(t) for t in spec.tolerations],
            topologySpreadConstraints=[_spread(s) for s in spec.spread],
            volumes=[_volume(v) for v in spec.volumes],
            resourceClaims=[_resource_claim(c) for c in spec.resource_claims],
            schedulerName=spec.scheduler_name,
            schedulingGates=[{"name": name} for name in spec.scheduling_gates],
            priority=spec.priority or None,
            priorityClassName=spec.priority_class,
        ),
        "terminationGracePeriodSeconds": spec.grace_seconds,
    }


def _resource_claim(claim: PodResourceClaim) -> Tree:
    return said(name=claim.name, resourceClaimName=claim.claim_name, resourceClaimTemplateName=claim.template)


def _containers(spec: PodSpec) -> Iterator[Tree]:
    """Yield one container, and a second for what is requested beyond the limit, as containers without do."""
    requests = Resources((name, amount) for name, amount in spec.requests.items() if name != PODS)
    limits = spec.limits
    within = Resources(
        {name: min(amount, limits.get(name, amount)) for name, amount in requests.items()}
        | {name: 0 for name in limits if name not in requests}
    )
    ports = [
        said(containerPort=p.port, hostPort=p.port, protocol=p.protocol, hostIP=p.ip) for p in spec.host_ports
    ]
    resources = said(requests=quantities(within), limits=quantities(limits))
    yield {"name": "main"} | said(resources=resources, ports=ports)
    beyond = Resources((name, amount) for name, amount in requests.minus(within).items() if amount)
    if beyond:
        yield {"name": "unlimited", "resources": {"requests": quantities(beyond)}}


def _expression(expression: Expression) -> Tree:
    return said(key=expression.key, operator=expression.operator.value, values=list(expression.values))


def _node_affinity(affinity: NodeAffinity) -> Tree:
    required = [_node_term(term) for term in affinity.required]
    preferred = [{"weight": weight, "preference": _node_term(term)} for weight, term in affinity.preferred]
    return said(**{_REQUIRED: said(nodeSelectorTerms=required), _PREFERRED: preferred})


def _node_term(term: tuple[Expression, ...]) -> Tree:
    fields = [_expression(e) | {"key": "metadata.name"} for e in term if e.key == labels.NODE_NAME]
    return said(
        matchExpressions=[_expression(e) for e in term if e.key != labels.NODE_NAME], matchFields=fields
    )


def _selector(selector: LabelSelector | None) -> Tree | None:
    if selector is None:
        return None
    expressions = [_expression(e) for e in selector.expressions]
    return said(matchLabels=dict(selector.match_labels), matchExpressions=expressions)


def _selectors(**selectors: LabelSelector | None) -> Tree:
    """Write selectors by name. An empty one stays, for it selects everything."""
    return {name: _selector(selector) for name, selector in selectors.items() if selector is not None}


def _pod_affinity(terms: Iterable[PodAffinityTerm]) -> Tree:
    several = list(terms)
    required = [_affinity_term(t) for t in several if t.weight is None]
    preferred = [
        {"weight": t.weight, "podAffinityTerm": _affinity_term(t)} for t in several if t.weight is not None
    ]
    return said(**{_REQUIRED: required, _PREFERRED: preferred})


def _affinity_term(term: PodAffinityTerm) -> Tree:
    return {
        "topologyKey": term.topology_key,
        **said(namespaces=list(term.namespaces)),
        **_selectors(labelSelector=term.selector, namespaceSelector=term.namespace_selector),
        **said(matchLabelKeys=list(term.match_label_keys), mismatchLabelKeys=list(term.mismatch_label_keys)),
    }


def _toleration(toleration: Toleration) -> Tree:
    written = said(
        key=toleration.key,
        operator=toleration.operator.value,
        value=toleration.value,
        effect=toleration.effect.value if toleration.effect else "",
    )
    return written if toleration.seconds is None else written | {"tolerationSeconds": toleration.seconds}


def _spread(spread: TopologySpread) -> Tree:
    return {
        "topologyKey": spread.topology_key,
        "maxSkew": spread.max_skew,
        "whenUnsatisfiable": "DoNotSchedule" if spread.hard else "ScheduleAnyway",
        **_selectors(labelSelector=spread.selector),
        **said(
            minDomains=spread.min_domains,
            nodeAffinityPolicy="" if spread.honor_node_affinity else "Ignore",
            nodeTaintsPolicy="Honor" if spread.honor_node_taints else "",
            matchLabelKeys=list(spread.match_label_keys),
        ),
    }


def _volume(volume: PodVolume) -> Tree:
    if volume.driver:
        return said(name=volume.name, **disk_manifest(volume.driver, volume.handle))
    if not volume.ephemeral:
        return said(name=volume.name, persistentVolumeClaim={"claimName": volume.claim_name})
    named = volume.storage_class is not None
    spec = {"storageClassName": volume.storage_class} if named else {}
    return said(name=volume.name, ephemeral={"volumeClaimTemplate": {"spec": spec}})
