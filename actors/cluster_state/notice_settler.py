"""Settling of notices: a notice is settled when the API shows the end of its node."""

from __future__ import annotations

from collections.abc import Iterable

from treenail.domain.cluster.cluster import ClusterModel
from treenail.domain.disruption.disruption import NodeInterrupted, NoticeSettled
from treenail.domain.interruption.early_notices import EarlyNotices
from treenail.domain.model.causes import TAKEN
from treenail.domain.model.node_deadlines import machine_ends_at
from treenail.domain.model.nodes import NodeView
from treenail.domain.model.runtime import Ref


class NoticeSettler:
    """Tells the listener, for each instance it announced, that its node is leaving, or is not ours.

    Until then the message stays in the queue, so that whoever comes after us hears of it too. Owns the
    notices of instances that may turn out to be ours.
    """

    def __init__(self, model: ClusterModel, listener: Ref[NoticeSettled]) -> None:
        self._model = model
        self._listener = listener
        # By view: the instance, and whether there is an end of it to be written down.
        self._noted: dict[str, list[tuple[str, bool]]] = {}
        self._early = EarlyNotices()

    def note(self, notice: NodeInterrupted) -> None:
        """Take in what was announced. While launches are under way the instance may still be ours."""
        instance_id = notice.instance_id
        name = self._model.objects.claim_of_instance(instance_id)
        if name is not None:
            told_end = notice.cause in TAKEN and notice.deadline is not None
            self._noted.setdefault(name, []).append((instance_id, told_end))
            self._settle(name)
        elif not self._early.keep(notice):
            self._listener.tell(NoticeSettled(instance_id=instance_id))

    def keep(self, notice: NodeInterrupted) -> None:
        """Keep a notice, before all is known, until it is."""
        self._early.keep(notice)

    def know_all(self) -> None:
        """Take in that all is known, and was looked at."""
        for instance_id in self._early.know_all():
            if self._model.objects.claim_of_instance(instance_id) is not None:
                self._early.find(instance_id)
        self._settle_foreign()

    def settle(self, names: Iterable[str]) -> None:
        """Look at views that changed."""
        for name in names:
            self._early.note(name, self._model.objects.claims.get(name))
            self._settle(name)
        self._settle_foreign()

    def take_found(self) -> tuple[NodeInterrupted, ...]:
        """Return the notices whose instances turned out to be ours since, to be noted anew."""
        return self._early.take_found()

    def _settle(self, name: str) -> None:
        if name not in self._noted:
            return
        noted, view = self._noted.pop(name), self._model.objects.view(name)
        left = [one for one in noted if not _stands(view, told_end=one[1])]
        if left:
            self._noted[name] = left
        for instance_id, _ in (one for one in noted if one not in left):
            self._listener.tell(NoticeSettled(instance_id=instance_id))

    def _settle_foreign(self) -> None:
        for instance_id in self._early.take_foreign():
            self._listener.tell(NoticeSettled(instance_id=instance_id))


def _stands(view: NodeView | None, *, told_end: bool) -> bool:
    """Return whether the API says that a node leaves, and when its machine ends."""
    if view is None:
        return True
    return view.ending and (not told_end or machine_ends_at(view.claim) is not None)
