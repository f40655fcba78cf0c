"""Delays of reading catalogues, which say what pools can buy: reads that fail, are slow or wait."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime
from typing import Final, TypeAlias

from treenail.domain.model.catalogue_keys import CatalogueKey
from treenail.domain.model.node_classes import Kubelet, NodeClassRef
from treenail.domain.telemetry.delays import Delay, FailingCalls

_CALL: Final = "EC2/DescribeInstanceTypes"
_USUAL_SECONDS: Final = 3.0
# What of a key stays when the node class is written again, as its status often is.
_Catalogue: TypeAlias = tuple[NodeClassRef, Kubelet]


class CatalogueDelays:
    """The delays of the last read of each catalogue, whatever revision its node class then had. Mutable."""

    def __init__(self) -> None:
        self._calls = FailingCalls()
        self._last: dict[_Catalogue, tuple[Delay, ...]] = {}
        # Those that are still not answered: pools of theirs may not buy, whether they are asked for or not.
        self._failing: dict[_Catalogue, tuple[Delay, ...]] = {}

    def note(
        self,
        key: CatalogueKey,
        within: tuple[Delay, ...],
        error: Exception | None,
        *,
        since: datetime,
        now: datetime,
    ) -> None:
        """Take in that a catalogue was read, `since` then, or why not; and the delays `within` the call."""
        one, about = _catalogue(key), f"{_CALL} for {key.node_class}"
        if error is not None:
            delays = self._calls.failed(one, about, error, within, since=since, now=now)
            before = self._failing.get(one, ())
            attempts = sum(delay.attempts for delay in before[:1])
            self._failing[one] = (replace(delays[0], attempts=delays[0].attempts + attempts), *delays[1:])
            self._last.pop(one, None)
            return
        self._failing.pop(one, None)
        self._last[one] = self._calls.answered(one, about, within, since=since, now=now, usual=_USUAL_SECONDS)

    def during(self, needed: Iterable[CatalogueKey], begun_at: datetime, now: datetime) -> tuple[Delay, ...]:
        """Return what delayed a decision, begun then, that is passed on now.

        What is over is forgotten, and so are catalogues that the decision's pools do not need: nobody reads
        those again.
        """
        wanted = dict.fromkeys(map(_catalogue, needed))
        self._failing = {one: delays for one, delays in self._failing.items() if one in wanted}
        over = [one for delays in self._last.values() for one in delays if one.until >= begun_at]
        failing = [replace(one, until=now) for delays in self._failing.values() for one in delays]
        self._last = {}
        return (*over, *failing)


def _catalogue(key: CatalogueKey) -> _Catalogue:
    return key.node_class, key.kubelet
