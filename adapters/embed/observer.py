"""The observer of a rehearsal's system: where the actors' own reports go."""

from __future__ import annotations

from treenail.adapters.embed.machines import NodeMachines
from treenail.adapters.embed.messages import Messages
from treenail.domain.model.runtime import Ref
from treenail.domain.termination.drain import InstanceTerminated


class Observer:
    """A Ref that notes reports, and passes them on to those that a test brings."""

    def __init__(self, messages: Messages, machines: NodeMachines, *brought: Ref[object] | None) -> None:
        self._messages = messages
        self._machines = machines
        self._brought = brought

    def tell(self, message: object, /) -> None:
        """Note it."""
        if isinstance(message, InstanceTerminated):
            self._machines.ended(message)
        self._messages.note("", message)
        for one in self._brought:
            if one is not None:
                one.tell(message)
