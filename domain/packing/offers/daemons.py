"""Daemon overhead: what DaemonSets take of a new node before any pod comes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from treenail.domain.model.labels import LEFT_OPEN
from treenail.domain.model.pods import HostPort, PodSpec
from treenail.domain.model.requirements import Requirements
from treenail.domain.model.taints import Taint, Toleration, untolerated
from treenail.domain.packing.arrays.arrays import Axis, Bools, Floats
from treenail.domain.packing.offers.masks import TypeMasks
from treenail.domain.packing.pods.demands import Demand, Demands
from treenail.domain.packing.pods.relaxation import Wants, relaxation_of
from treenail.domain.packing.pods.terms import PUT_UP_WITH_PREFERENCES


@dataclass(frozen=True, slots=True, eq=False)
class Daemon:
    """A DaemonSet's pod: what it requests (R), and the alternatives it requires of a node's labels.

    Its preferences do not matter, nor do taints PreferNoSchedule keep it off.
    """

    requests: Floats
    tolerations: tuple[Toleration, ...]
    alternatives: tuple[Demand, ...]
    ports: tuple[HostPort, ...] = ()


def read_daemons(specs: Iterable[PodSpec], axis: Axis) -> tuple[Daemon, ...]:
    """Return the daemons of `specs`, less those nobody could schedule for what their spec says."""
    # Read once for each catalogue and pool, not for each decision: see `CatalogueTable.kept`.
    daemons, demands = [], Demands()
    for spec in specs:
        try:
            required = tuple(
                level.demand for level in relaxation_of(spec, Wants(wishes=False), demands).required
            )
            requests = axis.requests(spec.requests)
        # The scheduler could place no such pod either, so it takes nothing of a node.
        except ValueError:
            continue
        # The DaemonSet controller heeds no PreferNoSchedule.
        tolerations = (*spec.tolerations, PUT_UP_WITH_PREFERENCES)
        daemons.append(Daemon(requests, tolerations, required, spec.host_ports))
    return tuple(daemons)


def daemon_load(
    daemons: Iterable[Daemon],
    taints: tuple[Taint, ...],
    template: Requirements,
    masks: TypeMasks,
    like: Floats,
) -> Floats:
    """Return what the daemons that would run on a new node of each type request of it (T, R), as `like` is.

    A daemon runs where it tolerates the template's `taints` and where template and type allow one of
    its alternatives.
    """
    load = np.zeros_like(like)
    for daemon in daemons:
        # Taints are the pool's, so they decide for all of its types at once; labels differ by type.
        if untolerated(taints, daemon.tolerations) is None:
            # Daemons do not depend on pods, so this is done once for each pool, and kept with the catalogue.
            load[_runs_on(daemon, template, masks, len(like))] += daemon.requests
    return load


def daemon_ports(
    daemons: Iterable[Daemon], taints: tuple[Taint, ...], template: Requirements, masks: TypeMasks, types: int
) -> dict[HostPort, Bools]:
    """Return the host ports that daemons take on new nodes, and on which types (T)."""
    taken: dict[HostPort, Bools] = {}
    for daemon in daemons:
        if daemon.ports and untolerated(taints, daemon.tolerations) is None:
            there = _runs_on(daemon, template, masks, types)
            for port in daemon.ports:
                # A new array: `there` may belong to another port of the same daemon.
                taken[port] = taken[port] | there if port in taken else there
    return taken


def _runs_on(daemon: Daemon, template: Requirements, masks: TypeMasks, types: int) -> Bools:
    anywhere = np.zeros(types, dtype=np.bool_)
    for alternative in daemon.alternatives:
        asked = (alternative.requirements, alternative.present)
        # First the template, one answer for all types; only then a mask over them.
        if all(template.compatible(part, may_be_undefined=LEFT_OPEN) for part in asked):
            here = np.ones_like(anywhere)
            for requirement in (r for part in asked for r in part.values()):
                here &= masks.admitting(requirement)
            # Required terms are alternatives: a type on which one of them is met runs the daemon.
            anywhere |= here
    return anywhere
