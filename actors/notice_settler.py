"""When a notice need be remembered no longer: what follows from it stands in the API, or nothing does."""

from __future__ import annotations

from collections.abc import Iterable

from treenail.domain.cluster import ClusterModel
from treenail.domain.disruption import TAKEN, Cause, NodeInterrupted, NoticeSettled
from treenail.domain.drain import machine_ends_at
from treenail.domain.nodes import NodeView
from treenail.domain.runtime import Ref


class NoticeSettler:
    """Tells the listener of every instance it announced that its node is on its way out, or is none of ours.

    Until then the message stays in the queue, so that whoever comes after us hears of it too.
    """

    def __init__(self, model: ClusterModel, listener: Ref[NoticeSettled]) -> None:
        self._model = model
        self._listener = listener
        # By view: the instance, and whether there is an end of it to be written down.
        self._noted: dict[str, list[tuple[str, bool]]] = {}
        self._unsure: dict[tuple[str, Cause], NodeInterrupted] = {}  # by what it is, as it may be told again

    def note(self, notice: NodeInterrupted, *, synced: bool) -> None:
        """Take in what was announced. Before all is known (`synced`) the instance may still be ours."""
        instance_id = notice.instance_id
        name = self._model.view_of_instance(instance_id)
        if name is not None:
            told_end = notice.cause in TAKEN and notice.deadline is not None
            self._noted.setdefault(name, []).append((instance_id, told_end))
            self.settle((name,))
        elif synced:
            self._listener.tell(NoticeSettled(instance_id=instance_id))
        else:
            self._unsure[instance_id, notice.cause] = notice

    def know_all(self) -> tuple[NodeInterrupted, ...]:
        """Take in that all is known now; return the notices that were of nobody known, to be noted anew."""
        unsure, self._unsure = self._unsure, {}
        return tuple(unsure.values())

    def settle(self, names: Iterable[str]) -> None:
        """Look at views that changed."""
        for name in names:
            if name not in self._noted:
                continue
            noted, view = self._noted.pop(name), self._model.view(name)
            left = [one for one in noted if not _stands(view, told_end=one[1])]
            if left:
                self._noted[name] = left
            for instance_id, _ in (one for one in noted if one not in left):
                self._listener.tell(NoticeSettled(instance_id=instance_id))


def _stands(view: NodeView | None, *, told_end: bool) -> bool:
    """Tell whether it stands in the API that a node goes, and when its machine does."""
    if view is None:
        return True
    return view.ending and (not told_end or machine_ends_at(view.claim) is not None)
