"""Pod specs, translated from their models. Equal specs become one object."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from msgspec import json

from treenail.adapters.api.core.pod_model import (
    ContainerModel,
    PodResourceClaimModel,
    PodSpecModel,
    RestartPolicy,
)
from treenail.adapters.api.core.pod_resources import parts_of
from treenail.adapters.api.core.pod_scheduling import (
    host_ports,
    node_affinity,
    node_selector,
    pod_affinity,
    spread,
    tolerations,
    volumes,
)
from treenail.adapters.api.diagnosis import quoted
from treenail.adapters.api.errors import FieldError
from treenail.adapters.api.names import is_dns_label
from treenail.adapters.api.selectors import NodeSelectorModel
from treenail.domain.model.pods import PodResourceClaim, PodSpec

_MOST_KNOWN: Final = 20_000
# In seconds: 68 years, after which nothing runs that is waited for.
_LONGEST_GRACE: Final = 2**31 - 1


class PodSpecs:
    """Translates pod specs, and gives the same object for all that are equal.

    Packing counts pods by their spec object, and pods of one template come by the thousand. What is
    remembered is bounded: beyond that it starts anew, and some equal specs are two objects. With
    `keep_parts`, specs say what their requests are made of, as admission by a LimitRange or a quota needs it;
    else only what is kept of that after admission.
    """

    def __init__(self, *, keep_parts: bool = False) -> None:
        self._keep_parts = keep_parts
        self._by_text: dict[bytes, PodSpec] = {}
        self._by_value: dict[PodSpec, PodSpec] = {}
        self._encoder = json.Encoder()

    def of(self, model: PodSpecModel, at: str = "spec", *, restart: Sequence[RestartPolicy] = ()) -> PodSpec:
        """Return the spec at the path `at`; `restart` are the policies allowed, if not all.

        The model loses what differs between pods of one template and says nothing about where a pod
        may run: its node's name, and volumes that are neither claims nor disks.

        Raises:
            FieldError: it breaks a rule of the API server.
        """
        if restart and model.restart_policy not in restart:
            problem = f"{quoted(model.restart_policy)} is not allowed here: it must be {' or '.join(restart)}"
            raise FieldError(f"{at}.restartPolicy", problem)
        model.node_name = ""
        if model.volumes:
            model.volumes = tuple(v for v in model.volumes if v.matters)
        text = self._encoder.encode(model)
        known = self._by_text.get(text)
        if known is not None:
            return known
        return self._remember(text, _translated(model, at, keep_parts=self._keep_parts))

    def of_pod(self, model: PodSpecModel, labels: Mapping[str, str]) -> PodSpec:
        """Return the spec of a pod with these labels: what its affinity leaves to them is filled in.

        Raises:
            FieldError: it breaks a rule of the API server.
        """
        spec = self.of(model)
        keys = spec.label_keys if spec.pod_affinity else ()
        if not keys:
            return spec
        filled = spec.of_pod({key: labels[key] for key in keys if key in labels})
        self._make_room()
        return self._by_value.setdefault(filled, filled)

    def _remember(self, text: bytes, spec: PodSpec) -> PodSpec:
        self._make_room()
        spec = self._by_value.setdefault(spec, spec)
        self._by_text[text] = spec
        return spec

    def _make_room(self) -> None:
        if len(self._by_text) >= _MOST_KNOWN or len(self._by_value) >= 2 * _MOST_KNOWN:
            self._by_text.clear()
            self._by_value.clear()


def without_field_terms(model: PodSpecModel) -> None:
    """Drop the demands on a node's fields from `model`.

    The controller of DaemonSets pins each of its pods to a node in this way; of where such a pod may
    run that says nothing we need, and with it every node would have a kind of pod of its own.
    """
    affinity = model.affinity.node_affinity if model.affinity else None
    if affinity is None or affinity.required is None:
        return
    terms = affinity.required.node_selector_terms
    for term in terms:
        term.match_fields = ()
    kept = tuple(term for term in terms if term.match_expressions)
    affinity.required = NodeSelectorModel(node_selector_terms=kept) if kept else None


def _translated(model: PodSpecModel, at: str, *, keep_parts: bool) -> PodSpec:
    _check_containers(model.containers, f"{at}.containers")
    _check_containers(model.init_containers, f"{at}.initContainers")
    parts = parts_of(model, at)
    requests, limits = parts.effective()
    affinity = model.affinity.node_affinity if model.affinity else None
    return PodSpec(
        requests=requests,
        limits=limits,
        node_selector=node_selector(model.node_selector, f"{at}.nodeSelector"),
        node_affinity=node_affinity(affinity, f"{at}.affinity.nodeAffinity"),
        tolerations=tolerations(model.tolerations, f"{at}.tolerations"),
        spread=spread(model.topology_spread_constraints, f"{at}.topologySpreadConstraints"),
        pod_affinity=pod_affinity(model, at),
        host_ports=host_ports(model),
        volumes=volumes(model.volumes),
        resource_claims=_resource_claims(model.resource_claims, f"{at}.resourceClaims"),
        scheduler_name=model.scheduler_name,
        scheduling_gates=tuple(g.name for g in model.scheduling_gates),
        priority=model.priority,
        priority_class=model.priority_class_name,
        grace_seconds=_grace(model.termination_grace_period_seconds),
        parts=parts if keep_parts else parts.admitted,
    )


def _resource_claims(models: Sequence[PodResourceClaimModel], at: str) -> tuple[PodResourceClaim, ...]:
    for n, one in enumerate(models):
        if bool(one.resource_claim_name) == bool(one.resource_claim_template_name):
            problem = "must have one of resourceClaimName and resourceClaimTemplateName"
            raise FieldError(f"{at}[{n}]", problem)
    return tuple(
        PodResourceClaim(m.name, m.resource_claim_name, m.resource_claim_template_name) for m in models
    )


def _grace(seconds: int) -> int:
    """Return a grace period as API servers take it: a negative one is a second."""
    return 1 if seconds < 0 else min(seconds, _LONGEST_GRACE)


def _check_containers(containers: Sequence[ContainerModel], at: str) -> None:
    seen: set[str] = set()
    for n, container in enumerate(containers):
        if not is_dns_label(container.name):
            problem = f"{quoted(container.name)} is not a DNS label" if container.name else "is missing"
            raise FieldError(f"{at}[{n}].name", problem)
        if container.name in seen:
            raise FieldError(f"{at}[{n}].name", f"{quoted(container.name)} is there twice")
        seen.add(container.name)
