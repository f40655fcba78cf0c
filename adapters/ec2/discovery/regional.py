"""Answers that hold for a whole region: instance types, the zones that sell them, and prices."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Final, Generic, TypeVar

from treenail.adapters.ec2.discovery.asking import Aws
from treenail.adapters.ec2.discovery.cache import AnswerCaches, Remembered

V = TypeVar("V")

_SECONDS: Final = 12 * 3600.0
# Who needs prices that are just being read waits so long; then those there are must do.
_PATIENCE_SECONDS: Final = 5.0


class Regional(ABC, Generic[V]):
    """An answer of AWS about a region, cached for twelve hours; see `Remembered` for `stand_in`."""

    def __init__(
        self,
        aws: Aws,
        caches: AnswerCaches,
        what: str,
        *,
        retry_seconds: float = 60.0,
        stand_in: V | None = None,
    ) -> None:
        self._aws = aws
        self._region = aws.clients.region
        self._found: Remembered[str, V] = caches.of(
            what,
            self._find,
            seconds=_SECONDS,
            retry_seconds=retry_seconds,
            stand_in=stand_in,
            patience=_PATIENCE_SECONDS,
        )

    @abstractmethod
    def _find(self, region: str, /) -> V:
        """Ask AWS; PortError where it does not tell."""

    def read(self, *, ahead: float = 0.0) -> V:
        """Return the answer; one that would be old in `ahead` seconds is looked up anew.

        Raises:
            PortError: it could not be looked up, and there is no stand-in.
        """
        return self._found.get(self._region, ahead=ahead)

    def fresh(self, *, ahead: float = 0.0) -> bool:
        """Return whether `read` would return at once."""
        return self._found.fresh(self._region, ahead=ahead)

    def last(self) -> V | None:
        """Return the last answer, however old; None before it was ever asked for."""
        return self._found.last(self._region)
