"""The refresher: reads instance types and prices anew in the background."""

from __future__ import annotations

from collections.abc import Callable
from threading import Event, Thread
from typing import Final, Protocol

from treenail.domain.model.errors import PortError
from treenail.domain.model.runtime import Dice, Log

# What would be old before the next look is read at this one already.
_EVERY_SECONDS: Final = 300.0
_AHEAD_SECONDS: Final = 600.0
_RETRY_SECONDS: Final = 60.0
# Processes that were started together shall not all ask together.
_SOONEST: Final = 0.8


class Refresh(Protocol):
    """The function that is called: `LiveCatalogue.refresh`."""

    def __call__(self, *, ahead: float) -> None: ...


class Refresher:
    """Calls `refresh` at once and then every four to five minutes, on a thread of its own, until `stop`.

    A `PortError` is logged, and it is tried again within a minute. Any other exception ends the thread, and
    `failed` hears of it. `wait` waits for the end so many seconds and tells whether it came.
    """

    def __init__(
        self,
        refresh: Refresh,
        *,
        dice: Dice,
        log: Log,
        failed: Callable[[BaseException], None],
        wait: Callable[[float], bool] | None = None,
    ) -> None:
        self._refresh = refresh
        self._dice = dice
        self._log = log
        self._failed = failed
        self._end = Event()
        self._wait = wait or self._end.wait
        self._thread = Thread(target=self.run, name="refresher", daemon=True)

    def start(self) -> None:
        """Begin, and return at once."""
        self._thread.start()

    def stop(self, seconds: float) -> bool:
        """Begin no more calls; False where one is still under way after `seconds`."""
        self._end.set()
        if self._thread.ident is not None:
            self._thread.join(seconds)
        return not self._thread.is_alive()

    def run(self) -> None:
        """Refresh until the end. This is what the thread does."""
        try:
            while not self._wait(self._once() * self._dice.uniform(_SOONEST, 1.0)):
                pass
        except BaseException as error:  # noqa: BLE001 (a defect: it is reported, never lost with the thread)
            self._failed(error)

    def _once(self) -> float:
        """Refresh, and return the seconds until that is due again."""
        try:
            self._refresh(ahead=_AHEAD_SECONDS)
        except PortError as error:
            self._log(
                "cannot look up what EC2 sells",
                logger="ec2.discovery",
                level="warning",
                error=str(error),
            )
            return _RETRY_SECONDS
        return _EVERY_SECONDS
