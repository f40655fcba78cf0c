"""Instances given back: one call for all that are asked for at about the same time."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from dataclasses import dataclass, field
from threading import Lock
from typing import Final

from treenail.adapters.ec2.call_errors import code_of, message_of
from treenail.domain.model.errors import InvalidError, NotFoundError
from treenail.domain.model.purposes import Purpose

_MOST_AT_ONCE: Final = 500
_INSTANCE_ID: Final = re.compile(r"\bi-[0-9a-f]+\b")


@dataclass(frozen=True, slots=True, eq=False)
class _Wish:
    ids: tuple[str, ...]
    purpose: Purpose
    done: Future[None] = field(default_factory=Future)


class Terminations:
    """Terminates instances for many threads. What comes while a call is out goes into the next one.

    `terminate` makes one call to TerminateInstances, for a purpose, and raises what the gate does.
    """

    def __init__(self, terminate: Callable[[list[str], Purpose], object]) -> None:
        self._call = terminate
        self._lock = Lock()
        self._waiting: list[_Wish] = []
        self._busy = False

    def terminate(self, ids: Iterable[str], purpose: Purpose = Purpose.DISRUPTION) -> None:
        """Terminate instances; those that are gone do not matter. Returns when it is done.

        Raises:
            PortError: it may not have been done. An InvalidError is of one of them: the others are done.
        """
        wish = _Wish(tuple(ids), purpose)
        if not wish.ids:
            return
        with self._lock:
            self._waiting.append(wish)
            leading, self._busy = not self._busy, True
        if leading:
            self._work()
        wish.done.result()

    def _work(self) -> None:
        while batch := self._next_batch():
            try:
                self._carry_out(batch)
            except InvalidError as error:
                self._apart(batch, error)
            except BaseException as error:  # noqa: BLE001 (told to all who wait, this thread among them)
                for wish in batch:
                    wish.done.set_exception(error)
            else:
                for wish in batch:
                    wish.done.set_result(None)

    def _next_batch(self) -> list[_Wish]:
        with self._lock:
            batch, self._waiting = self._waiting, []
            self._busy = bool(batch)
            return batch

    def _carry_out(self, batch: list[_Wish]) -> None:
        ids = sorted({one for wish in batch for one in wish.ids})
        purpose = min(wish.purpose for wish in batch)
        for n in range(0, len(ids), _MOST_AT_ONCE):
            self._terminate(ids[n : n + _MOST_AT_ONCE], purpose)

    def _terminate(self, ids: list[str], purpose: Purpose) -> None:
        """Terminate all of `ids` that are there: EC2 names those that are not, and then does nothing."""
        left = ids
        while left:
            try:
                self._call(left, purpose)
            except NotFoundError as error:
                gone = set(_INSTANCE_ID.findall(message_of(error))).intersection(left)
                if code_of(error) != "InvalidInstanceID.NotFound" or not gone:
                    raise
                left = [one for one in left if one not in gone]
            else:
                return

    def _apart(self, batch: list[_Wish], refused: InvalidError) -> None:
        """Terminate each by itself: one that is refused shall not keep the others."""
        if len(batch) == 1 and len(batch[0].ids) == 1:
            batch[0].done.set_exception(refused)
            return
        for wish in batch:
            try:
                self._one_by_one(wish)
            except BaseException as error:  # noqa: BLE001 (told to the one who waits)
                wish.done.set_exception(error)
            else:
                wish.done.set_result(None)

    def _one_by_one(self, wish: _Wish) -> None:
        """Terminate all of a wish that are not refused; raise the first refusal then."""
        refused: InvalidError | None = None
        for one in sorted(wish.ids):
            try:
                self._terminate([one], wish.purpose)
            except InvalidError as error:
                refused = refused or error
        if refused is not None:
            raise refused
