"""Details of refusals: the end of each sentence and the values in it, reason by reason."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, TypeAlias

import numpy as np

from treenail.domain.model import labels
from treenail.domain.model.labels import WELL_KNOWN
from treenail.domain.model.pods import HostPort
from treenail.domain.model.requirements import Requirement, Requirements
from treenail.domain.model.resources import format_amount
from treenail.domain.model.taints import Taint, Toleration
from treenail.domain.packing.arrays.arrays import Bools, Floats, Indices
from treenail.domain.packing.arrays.likeness import hint, likest, likest_of, listed
from treenail.domain.packing.offers.masks import OF_PLACES
from treenail.domain.packing.offers.templates import NodeTemplate
from treenail.domain.packing.pods.classes import PodKind
from treenail.domain.packing.pods.demands import Demands
from treenail.domain.packing.pods.relaxation import Wants, relaxation_of
from treenail.domain.packing.pods.terms import ports_conflict
from treenail.domain.packing.problem import VolumeNeeds
from treenail.domain.packing.refusal_reasons import Reason, Values

Said: TypeAlias = tuple[str, Values]
Reasoned: TypeAlias = tuple[Reason, str, Values]

_NAMES: Final = (labels.HOSTNAME, labels.NODE_NAME)
# Labels so much of their own that what does not suit them is a reason of its own.
_MISMATCHES: Final = {
    labels.OS: Reason.OPERATING_SYSTEM_MISMATCH,
    labels.ARCH: Reason.ARCHITECTURE_MISMATCH,
    labels.WINDOWS_BUILD: Reason.WINDOWS_BUILD_MISMATCH,
}
# So many types are named in a sentence.
_SHOWN: Final = 3
_MIB: Final = 2**20
# So many values of a label are few enough to be told.
_FEW: Final = 12


def resources_of(template: NodeTemplate) -> list[str]:
    """Return the resources of which any type has some."""
    names, capacities = template.table.capacities
    return [name for name, most in zip(names, capacities.max(axis=0, initial=0.0), strict=True) if most]


def too_little_for_daemons(name: str, had: Sequence[str]) -> Reasoned:
    """Return the refusal where daemons ask for more of a resource than any type has; `had` are those sold."""
    # Two different mistakes: a resource that exists and is too scarce, or one that no type has.
    if name in had:
        detail = f"the daemons of a new node ask for more {name} than the largest type has"
        return Reason.TOO_LARGE, detail, Values(name)
    detail = f"a daemon that would run on a new node asks for {name}, of which no instance type has any"
    return Reason.UNKNOWN_RESOURCE, detail, Values(name)


def missing(name: str, asked: float, template: NodeTemplate, types: Indices, left: Floats) -> str:
    """Return what nodes turned out to have less of `name` than one of `types` promised that would do.

    `left` (T) is what the types leave to pods. Empty where none would do.
    """
    found = [template.table.types[t].overhead.missing.get(name, 0) for t in types]
    # Only where the catalogue promised enough: then what real nodes lack is the reason, and not the request.
    enough = [
        (had + lacking, template.table.types[t].name, lacking)
        for t, had, lacking in zip(types, left, found, strict=True)
        if lacking and had + lacking >= asked
    ]
    if not enough:
        return ""
    _, of, lacking = min(enough)
    # Rounded down to whole MiB: nobody reads bytes.
    less = format_amount(name, lacking if lacking < _MIB else lacking // _MIB * _MIB)
    return f"; nodes of its node class report {less} {name} less than {of} should have"


def not_tolerated(taint: Taint, tolerations: Sequence[Toleration]) -> Said:
    """Return the sentence and the values of a taint that none of `tolerations` covers."""
    # A toleration with a slip in key or value is the usual mistake.
    own = [f"{t.key}={t.value}" for t in tolerations if t.key and t.value]
    near = likest(f"{taint.key}={taint.value}", own)
    but = f" ({near} is)" if near else ""
    detail = f"the taint {taint} is not tolerated{but}"
    return detail, Values(str(taint), ", ".join(own), (str(taint),), near)


def conflicting(conflict: Requirement, known: Requirements, template: NodeTemplate) -> Reasoned:
    """Return the refusal where a pool does not have a label, or a value of it, that is required."""
    own, asked = known.get(conflict.key), str(conflict)
    if conflict.key in _NAMES:
        detail = f"{conflict} is asked for, and a node still to be bought has no name yet"
        return Reason.HOSTNAME_REQUIRED, detail, Values(conflict.key, asked)
    # A label of the user's own that the pool does not declare: no node would have it. Well-known ones are
    # offered as corrections too.
    if own is None:
        near = likest(conflict.key, {*known, *WELL_KNOWN})
        detail = f"{conflict} is asked for, and the pool does not define that label{hint(near)}"
        return Reason.UNDEFINED_LABEL, detail, Values(conflict.key, asked, (), near)
    # A value that some type has was meant as it stands.
    unknown = conflict.values.difference(template.table.masks.values(conflict.key))
    near = likest_of(unknown, own.values)
    detail = f"{conflict} is asked for, and the pool has {own}{hint(near)}"
    reason = _MISMATCHES.get(conflict.key, Reason.INCOMPATIBLE_REQUIREMENT)
    return reason, detail, Values(conflict.key, asked, tuple(sorted(own.values)) or (str(own),), near)


def no_type(requirement: Requirement, template: NodeTemplate, left: Bools) -> Reasoned:
    """Return the refusal where none of the types `left` (T) by earlier requirements meets this one."""
    masks = template.table.masks
    known = masks.values(requirement.key)
    near = likest_of(requirement.values.difference(known), known)
    detail = f"no instance type that is left has {requirement}{hint(near)}"
    values = Values(requirement.key, str(requirement), _values_left(requirement.key, template, left), near)
    # Some type meets it by itself.
    if (template.admitted & masks.admitting(requirement)).any():
        # So only the conjunction with other requirements leaves no type: a mismatch of, say, the operating
        # system would be the wrong reason.
        return Reason.NO_INSTANCE_TYPE_MATCHES, detail, values
    return _MISMATCHES.get(requirement.key, Reason.NO_INSTANCE_TYPE_MATCHES), detail, values


def _values_left(key: str, template: NodeTemplate, left: Bools) -> tuple[str, ...]:
    """Return, sorted, what the types `left` (T) have for the label `key`; nothing of a long list."""
    masks = template.table.masks
    known = masks.values(key)
    # A label like the instance type has hundreds of values: a list of them is no help.
    if len(known) > _FEW:
        return ()
    return tuple(v for v in known if (left & masks.admitting(Requirement(key, frozenset((v,))))).any())


def no_capacity(template: NodeTemplate, able: Indices, together: Requirements) -> Reasoned:
    """Return the refusal where none of the types `able` is for sale in the places left, now or ever."""
    offers = template.table.offers
    names = listed(sorted(template.table.types[t].name for t in able), _SHOWN)
    asked = " and ".join(str(together[key]) for key in OF_PLACES if key in together)
    elsewhere = np.flatnonzero(np.isfinite(offers.prices[able]).any(axis=0))
    sold = sorted({"/".join(offers.places[place][:2]) for place in elsewhere})
    values = Values(names, asked, tuple(sold[:_SHOWN]), sold[0] if sold else "")
    # Listed is what is sold at all, priced what is to be had now: the difference ran out and may come back.
    if offers.listed[able][:, offers.within(together)].any():
        detail = f"the capacity of all types that would do has run out: {names}"
        return Reason.NO_CAPACITY, detail, values
    return Reason.NOT_SOLD, f"no type that would do is sold with {asked}: {names}", values


def contradiction(kind: PodKind) -> Reasoned:
    """Return the refusal where a pod's requirements contradict each other, or its volumes and claims."""
    # Without its volumes and claims the pod would have levels: so they are what contradicts it.
    if kind.volumes is not None and relaxation_of(kind.spec, Wants(wishes=False), Demands()).levels:
        for own in kind.spec.alternatives():
            for reached in kind.volumes.alternatives:
                wanted = own.conflict(reached, may_be_undefined=frozenset(reached))
                if wanted is not None:
                    return out_of_reach(wanted, own.get(wanted.key), "pod", kind.volumes)
    detail = "what it requires of a node's labels contradicts itself"
    return Reason.CONTRADICTORY_REQUIREMENTS, detail, Values()


def out_of_reach(
    wanted: Requirement, own: Requirement | None, who: str, needs: VolumeNeeds | None
) -> Reasoned:
    """Return the refusal where volumes or devices cannot be reached from where `who`, with `own`, may be."""
    of_devices = needs is not None and any(wanted.key in one for one in needs.device_nodes)
    reason = Reason.DEVICE_TOPOLOGY if of_devices else Reason.VOLUME_TOPOLOGY
    named = "the devices of its resource claims can be used" if of_devices else "its volumes can be reached"
    unnamed = who == "pool" and wanted.key in _NAMES
    has = f"the {who} has {own}" if own is not None else f"the {who} does not define that label"
    if unnamed:
        has = "a node still to be bought has no name yet"
    offered = tuple(sorted(own.values)) if own is not None and not own.complement else ()
    near = min(wanted.values) if wanted.values and not wanted.complement and not unnamed else ""
    return reason, f"{named} only where {wanted}, and {has}", Values(wanted.key, str(wanted), offered, near)


def of_types(key: str, template: NodeTemplate) -> Requirement | None:
    """Return what the types of a pool have for the label `key`, None where they do not define it."""
    values = template.table.masks.values(key)
    return Requirement(key, frozenset(values)) if values else None


def taken(ports: Iterable[HostPort], template: NodeTemplate, types: Indices) -> Said | None:
    """Return the sentence for a host port, if daemons take enough of `ports` to leave none of `types`."""
    free = np.ones(len(types), dtype=np.bool_)
    for port in ports:
        for daemon, there in sorted(template.ports.items()):
            if ports_conflict(port, daemon):
                # Several ports may each be taken on some types, and together on all of them.
                free &= ~there[types]
        if not free.any():
            return port_taken(port, "by a daemon on every new node")
    return None


def port_taken(port: HostPort, where: str) -> Said:
    """Return the sentence and values for a host port that is taken."""
    name = f"{port.port}/{port.protocol}"
    return f"the host port {name} is taken {where}", Values(name, name)


def too_few_values(template: NodeTemplate, types: Indices) -> Said | None:
    """Return the sentence for a label with fewer values on `types` than minValues asks; None without one."""
    for requirement in template.requirements.in_order():
        if requirement.min_values is None:
            continue
        # Counted as minValues counts them: every value a type can have, wherever the pod may be.
        left = {value for t in types for value in template.table.types[t].values(requirement.key)}
        if len(left) < requirement.min_values:
            wanted = str(requirement.min_values)
            detail = (
                f"the pool's minValues for {requirement.key} is {wanted}, and what is left has {len(left)}"
            )
            return detail, Values(requirement.key, wanted, (str(len(left)),))
    return None
