"""Log lines about claims and instances, with Karpenter's messages and fields."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from typing import Final

from treenail.domain.disruption.disruption import NodeInterrupted
from treenail.domain.model.causes import Cause
from treenail.domain.model.claims import expected_pods, promised_pods
from treenail.domain.model.fleets import Instance
from treenail.domain.model.node_pools import Generation
from treenail.domain.model.nodes import NodeClaim, NodeView
from treenail.domain.model.runtime import Log
from treenail.domain.telemetry.log_facts import shortened
from treenail.domain.telemetry.tracing import SpanContext
from treenail.domain.termination.end_records import EndRecord

_MOST_PACKINGS: Final = 10


def tell_packing(log: Log, claims: Iterable[NodeClaim]) -> None:
    """Log the kinds of nodes a decision makes: ten at most, the others are in its trace."""
    groups: dict[tuple[str, tuple[str, ...]], list[NodeClaim]] = {}
    for claim in claims:
        groups.setdefault((claim.pool, claim.instance_types), []).append(claim)
    for (pool, types), alike in islice(groups.items(), _MOST_PACKINGS):
        log(
            "computed packing with instance type options",
            logger="controller.provisioner",
            pool=pool,
            nodes=len(alike),
            pods=sum(len(promised_pods(claim)) + sum(expected_pods(claim).values()) for claim in alike),
            instance_types=list(types),
        )


def tell_created(log: Log, claim: NodeClaim) -> None:
    """Log that a claim is written: a machine or a nodeclaim, by its generation."""
    log(
        f"created {_kind(claim)}",
        logger="controller.provisioner",
        requests=claim.requests.format(),
        instance_types=shortened(claim.instance_types),
        **_named(claim),
    )


def tell_bought(log: Log, instance: Instance) -> None:
    """Log the instance EC2 gave."""
    log(
        "launched instance",
        logger="controller.provisioner.cloudprovider",
        id=instance.id,
        instance_type=instance.instance_type,
        zone=instance.zone,
        capacity_type=instance.capacity_type,
    )


def tell_launched(log: Log, claim: NodeClaim, instance: Instance) -> None:
    """Log that a claim is written with its instance, and what that leaves to pods."""
    log(
        f"launched {_kind(claim)}",
        logger=_logger(claim, "lifecycle"),
        provider_id=instance.provider_id,
        instance_type=instance.instance_type,
        zone=instance.zone,
        capacity_type=instance.capacity_type,
        allocatable=claim.allocatable.format(),
        **_named(claim),
    )


def tell_failed(log: Log, name: str, cause: Cause, why: str) -> None:
    """Log that a claim got no instance: a warning, except where EC2 had no capacity."""
    expected = cause is Cause.INSUFFICIENT_CAPACITY
    log(
        "failed launching nodeclaim",
        level="info" if expected else "warning",
        nodeclaim=name,
        cause=cause.value,
        error=why,
    )


def tell_registered(log: Log, claim: NodeClaim, node: str, span: SpanContext | None) -> None:
    """Log that a claim's node has joined, with the context of its span."""
    _tell_stage(log, f"registered {_kind(claim)}", claim, node, span)


def tell_initialized(log: Log, claim: NodeClaim, node: str, span: SpanContext | None) -> None:
    """Log that a claim's node can be used, with the context of its span."""
    _tell_stage(log, f"initialized {_kind(claim)}", claim, node, span)


def _tell_stage(log: Log, text: str, claim: NodeClaim, node: str, span: SpanContext | None) -> None:
    ids = {"trace_id": span.trace_id, "span_id": span.span_id} if span is not None else {}
    log(text, logger=_logger(claim, "lifecycle"), node=node, **_named(claim), **ids)


def tell_taken(log: Log, view: NodeView, notice: NodeInterrupted) -> None:
    """Log that a node goes because EC2 takes its machine."""
    log(
        "initiating delete from interruption message",
        logger="controller.interruption",
        nodeclaim=view.name,
        cause=notice.cause.value,
    )


def tell_node_deleted(log: Log, claim: NodeClaim, record: EndRecord) -> None:
    """Log that a node's machine is gone, and why."""
    log(
        "deleted node",
        logger="controller.termination",
        node=claim.node_name,
        nodeclaim=claim.name,
        **record.fields(),
    )


def tell_deleted(log: Log, claim: NodeClaim, record: EndRecord) -> None:
    """Log that a claim is gone, and why."""
    log(
        f"deleted {_kind(claim)}",
        logger=_logger(claim, "termination"),
        node=claim.node_name,
        provider_id=claim.provider_id,
        **record.fields(),
        **_named(claim),
    )


def _kind(claim: NodeClaim) -> str:
    return claim.generation.claim_kind.lower()


def _logger(claim: NodeClaim, stage: str) -> str:
    """Return the logger of a stage in a claim's life, such as controller.machine.lifecycle."""
    return f"controller.{_kind(claim)}.{stage}"


def _named(claim: NodeClaim) -> dict[str, str]:
    """Return the fields that name a claim and its pool: a machine has a provisioner."""
    pool = "provisioner" if claim.generation is Generation.V1ALPHA5 else "nodepool"
    return {_kind(claim): claim.name, pool: claim.pool}
