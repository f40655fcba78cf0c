"""Scheduling constraints of a pod: node affinity, pod affinity, topology spread."""

from __future__ import annotations

from collections.abc import Sequence

from treenail.adapters.api.core.pod_model import (
    NodeAffinityModel,
    PodAffinityModel,
    PodAffinityTermModel,
    PodSpecModel,
    SpreadModel,
    TolerationModel,
    VolumeModel,
)
from treenail.adapters.api.errors import FieldError
from treenail.adapters.api.names import check_key, check_value
from treenail.adapters.api.selectors import NO_NODE, LabelSelectorModel
from treenail.domain.model.pods import (
    HostPort,
    LabelSelector,
    NodeAffinity,
    PodAffinityTerm,
    PodVolume,
    TopologySpread,
)
from treenail.domain.model.taints import Effect, Toleration, TolerationOperator

ANYWHERE = NodeAffinity()


def tolerations(models: Sequence[TolerationModel], at: str) -> tuple[Toleration, ...]:
    """Return tolerations as written; FieldError says what is wrong with one."""
    return tuple(_toleration(m, f"{at}[{n}]") for n, m in enumerate(models))


def _toleration(model: TolerationModel, at: str) -> Toleration:
    exists = model.operator is TolerationOperator.EXISTS
    if model.key:
        check_key(model.key, f"{at}.key")
    elif not exists:
        raise FieldError(f"{at}.operator", "must be Exists where there is no key")
    if exists and model.value:
        raise FieldError(f"{at}.value", "must be empty where the operator is Exists")
    check_value(model.value, f"{at}.value")
    effect = Effect(model.effect) if model.effect else None
    if model.toleration_seconds is not None and effect is not Effect.NO_EXECUTE:
        raise FieldError(f"{at}.effect", "must be NoExecute where tolerationSeconds is set")
    return Toleration(
        key=model.key,
        operator=model.operator,
        value=model.value,
        effect=effect,
        seconds=model.toleration_seconds,
    )


def node_selector(labels: dict[str, str], at: str) -> tuple[tuple[str, str], ...]:
    """Return the pairs of a node selector, sorted."""
    for key, value in labels.items():
        check_key(key, at)
        check_value(value, f"{at}.{key}")
    return tuple(sorted(labels.items()))


def node_affinity(model: NodeAffinityModel | None, at: str) -> NodeAffinity:
    """Return demands and preferences of nodes. A preference without expressions prefers nothing."""
    if model is None:
        return ANYWHERE
    preferred = (
        (
            p.weight,
            p.preference.value(f"{at}.preferredDuringSchedulingIgnoredDuringExecution[{n}].preference"),
        )
        for n, p in enumerate(model.preferred)
    )
    required = model.required
    return NodeAffinity(
        required=required.value(f"{at}.requiredDuringSchedulingIgnoredDuringExecution") if required else (),
        preferred=tuple((weight, term) for weight, term in preferred if term and NO_NODE not in term),
    )


def pod_affinity(spec: PodSpecModel, at: str) -> tuple[PodAffinityTerm, ...]:
    """Return the terms of affinity, then those of anti-affinity, required before preferred."""
    if spec.affinity is None:
        return ()
    near = _affinity_terms(spec.affinity.pod_affinity, f"{at}.affinity.podAffinity", anti=False)
    away = _affinity_terms(spec.affinity.pod_anti_affinity, f"{at}.affinity.podAntiAffinity", anti=True)
    return (*near, *away)


def _affinity_terms(model: PodAffinityModel | None, at: str, *, anti: bool) -> tuple[PodAffinityTerm, ...]:
    if model is None:
        return ()
    required = f"{at}.requiredDuringSchedulingIgnoredDuringExecution"
    preferred = f"{at}.preferredDuringSchedulingIgnoredDuringExecution"
    return (
        *(_affinity_term(m, f"{required}[{n}]", anti, None) for n, m in enumerate(model.required)),
        *(
            _affinity_term(m.pod_affinity_term, f"{preferred}[{n}].podAffinityTerm", anti, m.weight)
            for n, m in enumerate(model.preferred)
        ),
    )


def _affinity_term(
    model: PodAffinityTermModel,
    at: str,
    anti: bool,  # noqa: FBT001 - passed on from a keyword
    weight: int | None,
) -> PodAffinityTerm:
    check_key(model.topology_key, f"{at}.topologyKey")
    for name, keys in (("match", model.match_label_keys), ("mismatch", model.mismatch_label_keys)):
        if keys and model.label_selector is None:
            raise FieldError(f"{at}.{name}LabelKeys", "needs a labelSelector")
    return PodAffinityTerm(
        topology_key=model.topology_key,
        selector=_selector(model.label_selector, f"{at}.labelSelector"),
        namespaces=tuple(sorted(model.namespaces)),
        namespace_selector=_selector(model.namespace_selector, f"{at}.namespaceSelector"),
        anti=anti,
        weight=weight,
        match_label_keys=model.match_label_keys,
        mismatch_label_keys=model.mismatch_label_keys,
    )


def _selector(model: LabelSelectorModel | None, at: str) -> LabelSelector | None:
    return None if model is None else model.value(at)


def spread(models: Sequence[SpreadModel], at: str) -> tuple[TopologySpread, ...]:
    """Return topology spread constraints as written; FieldError says what is wrong with one."""
    return tuple(_spread(m, f"{at}[{n}]") for n, m in enumerate(models))


def _spread(model: SpreadModel, at: str) -> TopologySpread:
    hard = model.when_unsatisfiable == "DoNotSchedule"
    if model.min_domains is not None and not hard:
        raise FieldError(f"{at}.minDomains", "needs whenUnsatisfiable: DoNotSchedule")
    if model.match_label_keys and model.label_selector is None:
        raise FieldError(f"{at}.matchLabelKeys", "needs a labelSelector")
    return TopologySpread(
        topology_key=model.topology_key,
        max_skew=model.max_skew,
        hard=hard,
        selector=_selector(model.label_selector, f"{at}.labelSelector"),
        min_domains=model.min_domains,
        honor_node_affinity=model.node_affinity_policy == "Honor",
        honor_node_taints=model.node_taints_policy == "Honor",
        match_label_keys=model.match_label_keys,
    )


def host_ports(spec: PodSpecModel) -> tuple[HostPort, ...]:
    """Return the ports claimed on the node, sorted: in the host's network, every port there is."""
    sidecars = (c for c in spec.init_containers if c.restart_policy == "Always")
    ports = (p for c in (*spec.containers, *sidecars) for p in c.ports)
    numbered = ((p.host_port or (p.container_port if spec.host_network else 0), p) for p in ports)
    return tuple(sorted({HostPort(port=n, protocol=p.protocol, ip=p.host_ip) for n, p in numbered if n}))


def volumes(models: Sequence[VolumeModel]) -> tuple[PodVolume, ...]:
    """Return the volumes that say something about nodes, in the order of the spec."""
    return tuple(_volume(m) for m in models if m.matters)


def _volume(model: VolumeModel) -> PodVolume:
    if model.persistent_volume_claim is not None:
        return PodVolume(name=model.name, claim_name=model.persistent_volume_claim.claim_name)
    if model.ephemeral is not None:
        spec = model.ephemeral.volume_claim_template.spec
        return PodVolume(name=model.name, storage_class=spec.storage_class_name, ephemeral=True)
    driver, handle = model.disk()
    return PodVolume(name=model.name, driver=driver, handle=handle)
