"""Interruptions: what the cluster model does with notices that instances end, and when one is settled."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import datetime
from typing import Final

from treenail.domain.cluster.batch_window import UrgentWork
from treenail.domain.cluster.cluster import ClusterModel
from treenail.domain.disruption.disruption import DisruptionBlocked, NodeInterrupted, NoticeSettled
from treenail.domain.interruption.early_notices import EarlyNotices
from treenail.domain.interruption.repair_brake import REPAIRED, RepairBrake
from treenail.domain.launch.launching import CapacityRanOut, offering_of
from treenail.domain.model.causes import TAKEN, Cause
from treenail.domain.model.event_subjects import of_view
from treenail.domain.model.instants import write_instant
from treenail.domain.model.node_deadlines import machine_ends_at
from treenail.domain.model.nodes import NodeView
from treenail.domain.model.runtime import Ref
from treenail.domain.scheduling.decision_queue import DecisionQueue

# By these EC2, or the owner of a reservation, wants back what there is too little of.
_WANTED_BACK: Final = frozenset({Cause.SPOT_INTERRUPTED, Cause.CAPACITY_RESERVATION_INTERRUPTED})


class Interruptions:
    """Interruptions: marks the node of an instance that ends, has its pods placed and its offering avoided.

    The `termination` hears of it under the name of its claim; where the node is left alone, the
    `event_publisher` tells people instead. No more unhealthy nodes go at a time than the brake allows;
    `tell_held` is called for one that has to wait, with the cause and the reason. A notice of an instance
    that no known claim has is acted on when a claim has it (`apply_found`).

    The `listener` is told of each notice that is settled: the API shows that its node leaves, or it is not
    ours. Until then the message stays in the queue, so that the next process hears of it too.
    """

    def __init__(
        self,
        model: ClusterModel,
        decisions: DecisionQueue,
        *,
        avoiders: tuple[Ref[CapacityRanOut], ...],
        batcher: Ref[UrgentWork],
        listener: Ref[NoticeSettled],
        event_publisher: Ref[DisruptionBlocked],
        termination: Ref[NodeInterrupted],
        tell_held: Callable[[NodeView, Cause, str], None],
    ) -> None:
        self._model = model
        self._decisions = decisions
        self._avoiders = avoiders
        self._batcher = batcher
        self._listener = listener
        self._event_publisher = event_publisher
        self._termination = termination
        self._tell_held = tell_held
        self._brake = RepairBrake()
        self._early = EarlyNotices()
        # By view: the instances that end, and whether there is a deadline to be written down.
        self._noted: dict[str, list[tuple[str, bool]]] = {}
        self._warned: dict[str, None] = {}
        self._all_known = False

    def hear(self, notice: NodeInterrupted, now: datetime) -> None:
        """Act on a notice. One told again changes nothing."""
        name = self._model.objects.claim_of_instance(notice.instance_id)
        view = self._model.objects.view(name) if name is not None else None
        if view is not None and self._spared(view, notice):
            return
        if view is not None and self._held(view, notice, now):
            return
        if view is not None and not self._all_known and self._model.objects.left_alone(view):
            # Its pool, by which it may have to be left alone, may be read yet.
            self._early.keep(notice)
            return
        self._note(notice, name)
        if name is None or view is None or view.claim is None:
            return
        for other in view.claimants:
            # The other claims that name this machine have nothing to drain, and would keep it from going.
            self._termination.tell(replace(notice, name=other))
        self._termination.tell(replace(notice, name=name))
        if notice.cause in _WANTED_BACK:
            ran_out = CapacityRanOut(offerings=(offering_of(view.claim),))
            for avoider in self._avoiders:
                avoider.tell(ran_out)
        # Our own terminations are announced too: a node that goes already is no news.
        news = name not in self._warned and not view.ending
        self._warned[name] = None
        news |= (
            notice.cause in TAKEN and notice.deadline is not None and self._model.mark_instance_ending(name)
        )
        if not news:
            return
        self._decisions.announce(now)
        self._model.mark_for_disruption(name)
        self._batcher.tell(UrgentWork(why=notice.cause.value))

    def _spared(self, view: NodeView, notice: NodeInterrupted) -> bool:
        """Return whether a node stays nevertheless, having told people so."""
        alone = self._model.objects.left_alone(view)
        if alone is None or view.ending or not (self._all_known and alone.spares(notice.cause)):
            return False
        ends = f", which ends at {write_instant(notice.deadline)}" if notice.deadline is not None else ""
        why = f"The node is left alone in spite of a warning ({notice.cause.value}{ends}): {alone.value}"
        self._event_publisher.tell(DisruptionBlocked(about=of_view(view), why=why))
        self._settled((notice.instance_id,))
        return True

    def _held(self, view: NodeView, notice: NodeInterrupted, now: datetime) -> bool:
        """Return whether an unwell node is not given up yet, as too many are, having told people so.

        Whoever finds it unwell says so again.
        """
        if notice.cause not in REPAIRED or view.claim is None or view.ending or view.name in self._warned:
            return False
        why = self._brake.holds(view.claim, self._model.objects.claims, now)
        if why is None:
            return False
        self._event_publisher.tell(DisruptionBlocked(about=of_view(view), why=why))
        self._tell_held(view, notice.cause, why)
        return True

    def know_all(self) -> None:
        """Take in that all is known now, and was told."""
        self._all_known = True
        for instance_id in self._early.know_all():
            if self._model.objects.claim_of_instance(instance_id) is not None:
                self._early.find(instance_id)
        self._settled(self._early.take_foreign())

    def settle(self, names: Iterable[str]) -> None:
        """Look at views that changed, and were told."""
        for name in names:
            self._early.note(name, self._model.objects.claims.get(name))
            self._settle(name)
            if name not in self._model.objects.claims:
                self._warned.pop(name, None)
        self._settled(self._early.take_foreign())

    def _note(self, notice: NodeInterrupted, name: str | None) -> None:
        """Keep a notice in mind. While launches are under way an unknown instance may still be ours."""
        if name is not None:
            told_end = notice.cause in TAKEN and notice.deadline is not None
            self._noted.setdefault(name, []).append((notice.instance_id, told_end))
            self._settle(name)
        elif not self._early.keep(notice):
            self._settled((notice.instance_id,))

    def _settle(self, name: str) -> None:
        if name not in self._noted:
            return
        noted, view = self._noted.pop(name), self._model.objects.view(name)
        left = [one for one in noted if not _stands(view, told_end=one[1])]
        if left:
            self._noted[name] = left
        self._settled(one[0] for one in noted if one not in left)

    def _settled(self, instance_ids: Iterable[str]) -> None:
        for instance_id in instance_ids:
            self._listener.tell(NoticeSettled(instance_id=instance_id))

    def warned_of(self, name: str) -> bool:
        """Return whether a node goes because it was warned of, whatever else it was to go for before."""
        return name in self._warned

    def apply_found(self, now: datetime) -> bool:
        """Act on early notices whose instance has become known; return whether there were any."""
        found = self._early.take_found()
        for notice in found:
            self.hear(notice, now)
        return bool(found)


def _stands(view: NodeView | None, *, told_end: bool) -> bool:
    """Return whether the API says that a node leaves, and when its machine ends."""
    if view is None:
        return True
    return view.ending and (not told_end or machine_ends_at(view.claim) is not None)
