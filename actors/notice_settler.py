"""When a notice need be remembered no longer: what follows from it stands in the API, or nothing does."""

from __future__ import annotations

from collections.abc import Iterable

from treenail.domain.cluster import ClusterModel
from treenail.domain.disruption import NoticeSettled
from treenail.domain.runtime import Ref


class NoticeSettler:
    """Tells the listener of every instance it announced that its node is on its way out, or is none of ours.

    Until then the message stays in the queue, so that whoever comes after us hears of it too.
    """

    def __init__(self, model: ClusterModel, listener: Ref[NoticeSettled]) -> None:
        self._model = model
        self._listener = listener
        self._noted: dict[str, list[str]] = {}
        self._unsure: dict[str, None] = {}

    def note(self, instance_id: str, *, synced: bool) -> None:
        """Take in that an instance was announced. Before all is known (`synced`) it may still be ours."""
        name = self._model.view_of_instance(instance_id)
        if name is not None:
            self._noted.setdefault(name, []).append(instance_id)
            self.settle((name,))
        elif synced:
            self._listener.tell(NoticeSettled(instance_id=instance_id))
        else:
            self._unsure[instance_id] = None

    def know_all(self) -> None:
        """Take in that all is known now."""
        unsure, self._unsure = self._unsure, {}
        for instance_id in unsure:
            self.note(instance_id, synced=True)

    def settle(self, names: Iterable[str]) -> None:
        """Look at views that changed."""
        for name in names:
            if name in self._noted and self._goes(name):
                for instance_id in self._noted.pop(name):
                    self._listener.tell(NoticeSettled(instance_id=instance_id))

    def _goes(self, name: str) -> bool:
        view = self._model.view(name)
        return view is None or view.ending
