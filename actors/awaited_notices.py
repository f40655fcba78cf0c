"""Notices of instances that nobody knows yet."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from cachetools import TTLCache

from treenail.domain.disruption import NodeInterrupted
from treenail.domain.nodes import NodeView

_KEPT_SECONDS: Final = 300.0
_MOST: Final = 10_000


class AwaitedNotices:
    """Notices of instances that are foreign, or ours before the watch has told of them. Kept for a while."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._notices: TTLCache[str, NodeInterrupted] = TTLCache(_MOST, _KEPT_SECONDS, timer=monotonic)

    def keep(self, notice: NodeInterrupted) -> None:
        """Wait for the instance that this is about."""
        self._notices[notice.instance_id] = notice

    def take(self, view: NodeView) -> NodeInterrupted | None:
        """Return the notice that waits for the machine of `view`, if any does, and wait with it no longer."""
        if view.claim is None:
            return None
        with self._notices.timer:  # it may not expire between one look at it and the next
            return self._notices.pop(view.claim.instance_id, None)
