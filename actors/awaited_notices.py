"""Notices of instances that nobody knows yet, and the instances that are known."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from cachetools import TTLCache

from treenail.domain.disruption import NodeInterrupted
from treenail.domain.nodes import NodeView

_KEPT_SECONDS: Final = 300.0
_MOST: Final = 10_000
_MOST_OF_ONE: Final = 10


class AwaitedNotices:
    """Notices of instances that are foreign, or ours before the watch has told of them. Kept for a while."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._notices: TTLCache[str, tuple[NodeInterrupted, ...]] = TTLCache(
            _MOST, _KEPT_SECONDS, timer=monotonic
        )

        self._names: dict[str, str] = {}

    def know(self, view: NodeView) -> None:
        """Take in which instance a view stands on."""
        if view.claim is not None and view.claim.launched:
            self._names[view.claim.instance_id] = view.name

    def forget(self, view: NodeView | None) -> None:
        """Take in that a view is gone."""
        if view is not None and view.claim is not None:
            self._names.pop(view.claim.instance_id, None)

    def known(self, instance_id: str) -> str:
        """Return the name of the view on an instance, "" where none is known."""
        return self._names.get(instance_id, "")

    def keep(self, notice: NodeInterrupted) -> None:
        """Wait for the instance that this is about."""
        with self._notices.timer:  # it may not expire between one look at it and the next
            before = self._notices.get(notice.instance_id, ())
            self._notices[notice.instance_id] = (*before, notice)[-_MOST_OF_ONE:]

    def take(self, view: NodeView) -> tuple[NodeInterrupted, ...]:
        """Return the notices that wait for the machine of `view`, in order, and wait with them no longer."""
        if view.claim is None:
            return ()
        with self._notices.timer:  # it may not expire between one look at it and the next
            return self._notices.pop(view.claim.instance_id, ())
