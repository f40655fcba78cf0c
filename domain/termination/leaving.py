"""The state of a node on its way out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from treenail.domain.cluster.changes import NodeChanged
from treenail.domain.disruption.disruption import DisruptNodes, NodeInterrupted
from treenail.domain.model.causes import REPLACED, STOPPING, TAKEN, Cause
from treenail.domain.model.nodes import NodeView
from treenail.domain.model.purposes import Purpose
from treenail.domain.model.resources import NOTHING, Resources, total
from treenail.domain.telemetry.ending_roots import interruption_context
from treenail.domain.telemetry.tracing import SpanContext
from treenail.domain.termination.end_records import actor_of, cause_said, reason_of
from treenail.domain.termination.ending_delays import EndingDelays


@dataclass(slots=True, kw_only=True)
class Leaving:
    """The progress of a node on its way out. Times are None until then.

    `why` says more of the cause, `actor` who decided so, "" for whoever does in such a case.
    By `deadline` it is to be gone as its claim says; at `ends_at` EC2 takes the machine. With `forced`,
    pods that would be lost with it are deleted in time. With `replaced_first`, it stays where its pods get
    no other places. With `emptied_first` too, they are evicted before its claim is deleted: until the last of
    them stops, it can still stay. The nodes that one move gives up go `together`, by name, and `room` is what
    all of them have for pods.
    """

    cause: Cause
    trace: SpanContext
    why: str = ""
    actor: str = ""
    deadline: datetime | None = None
    ends_at: datetime | None = None
    forced: bool = True
    replaced_first: bool = False
    emptied_first: bool = False
    together: tuple[str, ...] = ()
    room: Resources = NOTHING
    # Why the node stays after all, if it does; for a consolidation, the policy of its pool.
    withdrawn: str = ""
    policy: str = ""
    began_at: datetime
    # When it was told why it goes, or when its machine does, if that was later.
    noticed_at: datetime | None = None
    cordoned_at: datetime | None = None
    drained_at: datetime | None = None
    terminated_at: datetime | None = None
    gone: bool = False
    # When the machine was looked for last, and whether it was gone before the node was drained.
    looked_at: datetime | None = None
    lost: bool = False
    nothing_bought: bool = False
    root_recorded: bool = False
    # Whether metrics have it: its claim may be deleted more than once, before the watch tells of it.
    counted: bool = False
    # The decisions that found other places for its pods, in the order they were heard of.
    decisions: dict[str, None] = field(default_factory=dict)
    # Its pods that have a place on another node, by uid: whether that is ready. Where the node goes in any
    # case, that stays so until they get another one.
    places: dict[str, bool] = field(default_factory=dict)
    # Its pods that had a place and lost it, by uid: when that was last heard.
    lost_places: dict[str, datetime] = field(default_factory=dict)
    # The persistent volumes of its pods, by uid of the pod, including pods that are gone; and whether the
    # volumes that no pod uses any more are detached.
    volumes: dict[str, tuple[str, ...]] = field(default_factory=dict)
    detached: bool = False
    # True if another process began with it: then pods may have left before that this one does not know of.
    resumed: bool = False
    # The pods that were evicted before its claim is deleted, by uid.
    moved_first: dict[str, None] = field(default_factory=dict)
    # Its pods that were deleted because time was up, by uid.
    hurried: dict[str, None] = field(default_factory=dict)
    # Warnings that people were told of.
    warned: dict[Cause, None] = field(default_factory=dict)
    delays: EndingDelays = field(default_factory=EndingDelays)

    @classmethod
    def of(cls, notice: NodeInterrupted, *, forced: bool) -> Leaving:
        """Return how a node begins to leave that EC2 takes, or should be rid of."""
        trace = interruption_context(notice.instance_id, notice.cause).child("process")
        return cls(cause=notice.cause, why=notice.why, trace=trace, forced=forced, began_at=notice.noticed_at)

    def heed_order(self, order: DisruptNodes, pool: str) -> None:
        """Take in how a node of this pool is to be given up."""
        self.replaced_first, self.emptied_first = order.replaced_first, order.emptied_first
        self.policy = order.policies.get(pool, "")
        if order.replaced_first and order.cause is Cause.UNDERUTILIZED:
            self.together = tuple(view.name for view in order.nodes)
            self.room = total(view.node.allocatable for view in order.nodes if view.node is not None)

    def heed(self, notice: NodeInterrupted) -> bool:
        """Take in by when the node must be gone; what was said earlier holds where it is sooner.

        Return whether people are to be told: not again, nor of an instance that stops because we end it.
        """
        sooner = _earlier(self.ends_at, notice.deadline)
        if sooner != self.ends_at:
            self.noticed_at = notice.noticed_at
        self.ends_at = sooner
        if notice.forceful:
            self.hasten(notice.noticed_at)
        ours = notice.cause in STOPPING and self.drained_at is not None
        news = not ours and notice.cause not in self.warned
        self.warned[notice.cause] = None
        return news

    @property
    def purpose(self) -> Purpose:
        """The purpose of calls that see it out: those for a machine that is taken can wait for no other."""
        taken = self.cause in TAKEN or self.ends_at is not None
        return Purpose.INTERRUPTION if taken else Purpose.DISRUPTION

    @property
    def at_will(self) -> bool:
        """True if nothing but our own wish makes the node go, so that its pods can wait for other places."""
        if self.ends_at is not None or any(cause not in REPLACED for cause in self.warned):
            return False
        return self.replaced_first or (self.cause in REPLACED and self.cause is not Cause.EXPIRED)

    @property
    def may_stay(self) -> bool:
        """True if there is a way back, until the claim is deleted."""
        return self.cause is Cause.EMPTY or self.replaced_first

    def has_way_back(self, view: NodeView) -> bool:
        """Return whether the node may still turn out to stay."""
        return self.may_stay and view.claim is not None and not view.claim.leaving

    @property
    def told_at(self) -> datetime:
        """The time from which it is known how long the node's pods have."""
        return self.noticed_at or self.began_at

    @property
    def end(self) -> datetime | None:
        """The time when it is over at the latest: by its claim, or because the machine is taken."""
        return _earlier(self.deadline, self.ends_at)

    def agree(self, view: NodeView) -> None:
        """Take in why a node goes that somebody else has deleted: what its claim says is why."""
        if not view.ending or view.claim is None:
            return
        said = cause_said(view.claim) or (Cause.DELETED if self.may_stay else self.cause)
        if said is not self.cause:
            self.insist(said, why=reason_of(view.claim), actor=actor_of(view.claim))

    def insist(self, cause: Cause, *, why: str = "", actor: str = "", at: datetime | None = None) -> None:
        """Take in why there is no way back any more, and that it was told `at` some time."""
        self.cause, self.why, self.actor = cause, why, actor
        self.replaced_first = self.emptied_first = False
        self.noticed_at = at or self.noticed_at

    def hasten(self, deadline: datetime | None) -> None:
        """Let the node be gone by `deadline`, unless it must be gone earlier already."""
        self.deadline = _earlier(self.deadline, deadline)

    def hurry(self, uid: str) -> bool:
        """Take in that a pod is deleted because time is up; return whether that is news."""
        news = uid not in self.hurried
        self.hurried[uid] = None
        return news

    def unplaced_since(self, uid: str) -> datetime:
        """Return since when a pod without a place waits for one: since it was told to go, or lost another."""
        return max(self.told_at, self.lost_places.get(uid, self.told_at))

    def note(self, changed: NodeChanged, now: datetime) -> None:
        """Take in where its pods go, and what volumes they have."""
        self.decisions |= dict.fromkeys(changed.decisions)
        self.note_places(changed.places, now)
        self.volumes = {**self.volumes, **changed.volumes}

    def note_places(self, places: Mapping[str, bool], now: datetime) -> None:
        """Take in which of the pods have a place on another node, and whether it is ready.

        From a node that goes at will no pod leaves whose place was taken by others meanwhile.
        """
        ready = {} if self.at_will else {uid: True for uid, was in self.places.items() if was}
        kept = {**ready, **places}
        self.lost_places |= {uid: now for uid in self.places if uid not in kept}
        self.places = kept


def why_it_stays(cause: Cause, withdrawn: str = "") -> str:
    """Return, for a log line, why a node stays after all that was to go because of `cause`."""
    if withdrawn:
        return f"node stays: {withdrawn}"
    if cause is Cause.EMPTY:
        return "node is not empty any more"
    return "not all pods of the node have other places"


def _earlier(one: datetime | None, other: datetime | None) -> datetime | None:
    return min((at for at in (one, other) if at is not None), default=None)
