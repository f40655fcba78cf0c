"""Terminations: one call for all instances that are given back at about the same time."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from threading import Lock
from types import MappingProxyType
from typing import Final

from treenail.adapters.ec2.call_errors import code_of, message_of
from treenail.domain.model.errors import InvalidError, NotFoundError
from treenail.domain.model.purposes import Purpose

_MOST_AT_ONCE: Final = 500
# Several urgent calls may be under way at once, so that a slow one holds up no other.
_CALLS_OUT: Final[Mapping[Purpose, int]] = MappingProxyType({Purpose.INTERRUPTION: 4})
_INSTANCE_ID: Final = re.compile(r"\bi-[0-9a-f]+\b")


@dataclass(frozen=True, slots=True, eq=False)
class _Wish:
    ids: tuple[str, ...]
    purpose: Purpose
    done: Future[None] = field(default_factory=Future)


class Terminations:
    """Terminates instances for many threads. What comes while a call is out goes into the next one.

    Each purpose has its own calls, so that the urgent waits for no call, or permit, of the less urgent.

    `terminate` makes one call to TerminateInstances, for a purpose, and raises what `CallRetries` does.
    """

    def __init__(self, terminate: Callable[[list[str], Purpose], object]) -> None:
        self._call = terminate
        self._lock = Lock()
        self._waiting: dict[Purpose, list[_Wish]] = {}
        # How many calls are out: as many threads see to what waits.
        self._busy: Counter[Purpose] = Counter()

    @property
    def waiting(self) -> int:
        """The number of requests that wait for the next call, while one is under way."""
        with self._lock:
            return sum(len(wishes) for wishes in self._waiting.values())

    def terminate(self, ids: Iterable[str], purpose: Purpose = Purpose.DISRUPTION) -> None:
        """Terminate instances; those that are gone do not matter. Returns when it is done.

        Raises:
            PortError: it may not have been done. An InvalidError is of one of them: the others are done.
        """
        wish = _Wish(tuple(ids), purpose)
        if not wish.ids:
            return
        with self._lock:
            self._waiting.setdefault(purpose, []).append(wish)
            leading = self._busy[purpose] < _CALLS_OUT.get(purpose, 1)
            self._busy[purpose] += leading
        if leading:
            self._work(purpose)
        wish.done.result()

    def _work(self, purpose: Purpose) -> None:
        while batch := self._next_batch(purpose):
            try:
                self._carry_out(batch, purpose)
            except InvalidError as error:
                self._apart(batch, error)
            except BaseException as error:  # noqa: BLE001 (told to all who wait, this thread among them)
                for wish in batch:
                    wish.done.set_exception(error)
            else:
                for wish in batch:
                    wish.done.set_result(None)

    def _next_batch(self, purpose: Purpose) -> list[_Wish]:
        with self._lock:
            batch = self._waiting.pop(purpose, [])
            if not batch:
                self._busy[purpose] -= 1
            return batch

    def _carry_out(self, batch: list[_Wish], purpose: Purpose) -> None:
        ids = sorted({one for wish in batch for one in wish.ids})
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
        """Terminate each instance by itself, so that a refused one does not keep the others."""
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
