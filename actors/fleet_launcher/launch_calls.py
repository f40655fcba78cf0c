"""Calls of a launch: each as the key it queues under and the function to run elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final, TypeAlias, TypeVar, assert_never

from treenail.domain.launch.instance_overlay import NO_OVERLAY, InstanceOverlay, instance_overlay
from treenail.domain.launch.launch_book import LaunchBook
from treenail.domain.launch.launch_groups import Batch
from treenail.domain.launch.launch_options import LaunchOptions
from treenail.domain.launch.launch_steps import (
    CallFleet,
    FindInstances,
    MarkClaim,
    PrepareBatch,
    RecordInstance,
    Step,
    WriteClaim,
)
from treenail.domain.launch.launching import LaunchMark
from treenail.domain.launch.unavailable_offerings import UnavailableOfferings
from treenail.domain.model import labels
from treenail.domain.model.catalogue_keys import OfferingKey, mark_unavailable
from treenail.domain.model.claim_conditions import after_launch
from treenail.domain.model.claim_prices import write_price
from treenail.domain.model.errors import (
    AlreadyExistsError,
    InvalidError,
    NodeClassNotReadyError,
    NotFoundError,
)
from treenail.domain.model.fleets import FleetAnswer, FleetRequest, Instance
from treenail.domain.model.node_classes import NodeClass
from treenail.domain.model.node_pools import NodePool
from treenail.domain.model.nodes import NodeClaim
from treenail.domain.model.overlaid_types import overlaid
from treenail.domain.model.patches import ClaimPatch
from treenail.domain.model.runtime import TaskKey
from treenail.domain.model.stand_alone_claims import after_attempt, before_launch
from treenail.domain.ports import Cloud, ClusterReader, ClusterWriter

R = TypeVar("R")
_NO_TAGS: Final[Mapping[str, str]] = {}
Call: TypeAlias = "tuple[TaskKey, Callable[[], R]]"


class LaunchCalls:
    """Ways to the API server and to EC2. Every function it returns may block and may raise a PortError.

    `tags` are those of all that is launched, less what a node class says otherwise.
    """

    def __init__(
        self,
        *,
        reader: ClusterReader,
        writer: ClusterWriter,
        cloud: Cloud,
        cluster_name: str,
        tags: Mapping[str, str] = _NO_TAGS,
    ) -> None:
        self.cluster_name = cluster_name
        self.tags = tags
        self._reader = reader
        self.writer = writer
        self._cloud = cloud

    def of(self, step: Step, book: LaunchBook, ran_out: UnavailableOfferings) -> Call[object] | None:
        """Return the call of a step, None where the work it belongs to is over.

        What `ran_out` is not to be bought.
        """
        match step:
            case WriteClaim() | MarkClaim() | RecordInstance():
                claim = book.claim(step.name)
                return None if claim is None else self._of_claim(step, claim, book)
            case PrepareBatch():
                batch = book.batch(step.batch)
                if batch is None:
                    return None
                return self._prepare(batch, book, ran_out.of(batch.node_class.ref))
            case CallFleet():
                group = book.group(step.token)
                return None if group is None else self._fleet(group.launch.request)
            case FindInstances():
                return self._find(step.token)
            case _:
                assert_never(step)

    def _of_claim(
        self,
        step: WriteClaim | MarkClaim | RecordInstance,
        claim: NodeClaim,
        book: LaunchBook,
    ) -> Call[object] | None:
        match step:
            case WriteClaim():
                return self._write(claim)
            case MarkClaim():
                group = book.group(step.token)
                mark = group.marks.get(step.name) if group is not None else None
                return None if mark is None else self._mark(claim, mark, fresh=step.attempt > 0)
            case RecordInstance():
                instance = book.instance(step.name)
                return None if instance is None else self._record(claim, instance, book.source(step.name))

    def _write(self, claim: NodeClaim) -> Call[NodeClaim]:
        """Create a claim. One of its name that is there already is this one, from an earlier attempt."""

        def call() -> NodeClaim:
            try:
                return self.writer.create_claim(claim)
            except AlreadyExistsError:
                return self._reader.get_claim(claim.name)

        return _about(claim.name), call

    def _mark(self, claim: NodeClaim, mark: LaunchMark, *, fresh: bool) -> Call[NodeClaim]:
        """Annotate a claim with its launch, unless somebody changed the claim (`fresh` reads it first).

        One that somebody else wrote gets our finalizer in the same write: from then on it costs money.
        """

        def call() -> NodeClaim:
            known = self._reader.get_claim(claim.name) if fresh else claim
            if known.leaving or known.provider_id:
                raise NotFoundError(f"{claim.name} is not waiting for a launch any more")
            patch = replace(before_launch(known), annotations={labels.LAUNCH: str(mark)})
            marked = self.writer.patch_claim(claim.name, patch, version=known.resource_version)
            if marked.unread:
                raise InvalidError(f"{claim.name} cannot be understood: {marked.unread}")
            return marked

        return _about(claim.name), call

    def say_failed(self, claim: NodeClaim, why: str) -> Call[NodeClaim]:
        """Write onto a claim why its launch came to nothing, before it is launched again."""
        return _about(claim.name), lambda: self.writer.patch_claim(claim.name, after_attempt(claim, why))

    def _prepare(
        self, batch: Batch, book: LaunchBook, ran_out: frozenset[OfferingKey]
    ) -> Call[LaunchOptions]:
        """Read what the batch's node class can launch now, and choose from it for each of its claims.

        To choose for a thousand claims takes seconds, in which those of others are not to wait.
        """
        kubelet = batch.pool.kubelet or batch.node_class.kubelet
        claims = book.claims(batch.names)

        def call() -> LaunchOptions:
            types = self._cloud.instance_types(batch.node_class, kubelet)
            buyable = LaunchOptions(mark_unavailable(overlaid(types, batch.pool).types, ran_out))
            for claim in claims:
                buyable.choose(claim)
            return buyable

        return ("ec2", "catalogue", batch.id), call

    def _fleet(self, request: FleetRequest) -> Call[FleetAnswer]:
        """Buy instances."""
        return ("ec2", "fleet", request.token), lambda: self._cloud.launch(request)

    def _find(self, token: str) -> Call[tuple[Instance, ...]]:
        """Look for instances bought under a token."""
        return ("ec2", "fleet", token), lambda: self._cloud.launched_by(token)

    def _record(
        self, claim: NodeClaim, instance: Instance, source: tuple[NodePool, NodeClass] | None
    ) -> Call[NodeClaim]:
        """Write onto a claim which instance it got and what that has, by the overlays of its pool."""

        def call() -> NodeClaim:
            overlay = self._overlay(instance, source)
            return self.writer.patch_claim(claim.name, _recorded(claim, overlay.of(instance), overlay.name))

        return _about(claim.name), call

    def _overlay(self, instance: Instance, source: tuple[NodePool, NodeClass] | None) -> InstanceOverlay:
        """Return what overlays say of an instance. Blocks."""
        if source is None or not source[0].overlays:
            return NO_OVERLAY
        pool, node_class = source
        try:
            types = self._cloud.instance_types(node_class, pool.kubelet or node_class.kubelet)
        except NodeClassNotReadyError:
            # What was bought is written down in any case.
            return NO_OVERLAY
        return instance_overlay(instance, types, pool)


def _recorded(claim: NodeClaim, instance: Instance, overlay: str) -> ClaimPatch:
    """Return what a claim is to say of its instance, whose price is from `overlay`, "" where from none."""
    profile = instance.instance_profile
    price = {labels.PRICE: f"{instance.price:.6f}", labels.PRICE_FROM: overlay}
    return ClaimPatch(
        annotations={
            **(price if overlay else write_price(instance.price)),
            **({labels.INSTANCE_PROFILE: profile} if profile else {}),
        },
        provider_id=instance.provider_id,
        image_id=instance.image_id,
        labels={
            **instance.labels,
            labels.INSTANCE_TYPE: instance.instance_type,
            labels.ZONE: instance.zone,
            labels.CAPACITY_TYPE: instance.capacity_type,
        },
        capacity=instance.capacity,
        allocatable=instance.allocatable,
        conditions=after_launch(claim),
    )


def _about(name: str) -> TaskKey:
    return ("kubernetes", "claim", name)
