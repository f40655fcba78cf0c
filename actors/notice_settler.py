"""When a notice need be remembered no longer: what follows from it stands in the API, or nothing does."""

from __future__ import annotations

from collections.abc import Iterable

from treenail.domain.cluster import ClusterModel
from treenail.domain.disruption import Cause, NodeInterrupted, NoticeSettled
from treenail.domain.runtime import Ref


class NoticeSettler:
    """Tells the listener of every instance it announced that its node is on its way out, or is none of ours.

    Until then the message stays in the queue, so that whoever comes after us hears of it too.
    """

    def __init__(self, model: ClusterModel, listener: Ref[NoticeSettled]) -> None:
        self._model = model
        self._listener = listener
        self._noted: dict[str, list[str]] = {}
        self._unsure: dict[tuple[str, Cause], NodeInterrupted] = {}  # by what it is, as it may be told again

    def note(self, notice: NodeInterrupted, *, synced: bool) -> None:
        """Take in what was announced. Before all is known (`synced`) the instance may still be ours."""
        instance_id = notice.instance_id
        name = self._model.view_of_instance(instance_id)
        if name is not None:
            self._noted.setdefault(name, []).append(instance_id)
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
            if name in self._noted and self._goes(name):
                for instance_id in self._noted.pop(name):
                    self._listener.tell(NoticeSettled(instance_id=instance_id))

    def _goes(self, name: str) -> bool:
        view = self._model.view(name)
        return view is None or view.ending
