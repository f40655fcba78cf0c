"""Counts of closed connections by reason. They are logged once a minute, however many there are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Final, TypeAlias

from treenail.domain.ports import Telemetry
from treenail.domain.telemetry import metrics

LOGGER: Final = "controller.ports"


class Loss(StrEnum):
    """Reasons for closing a connection."""

    NO_ROOM = "no_room"
    NO_TLS = "no_tls"
    NO_REQUEST = "no_request"
    TOO_LARGE = "too_large"
    LATE_HANDSHAKE = "late_handshake"
    LATE_REQUEST = "late_request"
    LATE_READER = "late_reader"


Lost: TypeAlias = Callable[[Mapping[Loss, int]], None]


class Losses:
    """Losses since they were last told of."""

    def __init__(self) -> None:
        self._counts: Counter[Loss] = Counter()

    def note(self, loss: Loss) -> bool:
        """Count one; return whether it is the first since `take`."""
        self._counts[loss] += 1
        return self._counts.total() == 1

    def take(self) -> Mapping[Loss, int]:
        """Return how many there were, by reason, and begin anew."""
        taken, self._counts = self._counts, Counter()
        return dict(sorted(taken.items()))


def told_to(telemetry: Telemetry, variable: str) -> Lost:
    """Return what tells of losses at the port that the setting `variable` names."""

    def tell(losses: Mapping[Loss, int]) -> None:
        for loss, number in losses.items():
            telemetry.count(metrics.CONNECTIONS_CLOSED.name, number, port=variable, reason=loss.value)
        counts = {loss.value: number for loss, number in losses.items()}
        telemetry.log("connections closed", logger=LOGGER, level="warning", port=variable, **counts)

    return tell
