"""Calls through ports, counted by name, of which a test may let chosen ones fail."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, TypeVar, cast

from treenail.adapters.embed.arguments import one_of
from treenail.domain.model.errors import PortError, UnavailableError
from treenail.domain.ports import Cloud, ClusterReader, ClusterWriter, InterruptionQueue

P = TypeVar("P")
# These are promised not to fail.
_SAFE: Final = ("feed", "learn", "stop")
_PORTS: Final[tuple[type, ...]] = (ClusterReader, ClusterWriter, Cloud, InterruptionQueue)
_CALLS: Final = tuple(
    sorted({name for port in _PORTS for name in vars(port) if not name.startswith("_") and name not in _SAFE})
)


@dataclass(slots=True, kw_only=True)
class CallFault:
    """Calls of a name that fail: from the `nth` on (from when this was made) so many `times`.

    With `done`, the call is carried out, and its answer lost. `where` chooses among the calls.
    """

    call: str
    nth: int
    times: int
    error: PortError
    done: bool
    where: Callable[..., bool]
    seen: int = 0
    failed: int = 0

    def meets(self, *args: object, **kwargs: object) -> bool:
        """Count a call, and return whether it is to fail."""
        if not self.where(*args, **kwargs):
            return False
        self.seen += 1
        if not self.nth <= self.seen < self.nth + self.times:
            return False
        self.failed += 1
        return True

    @property
    def missing(self) -> str:
        """The sentence that says what of it has not happened yet; "" if all has."""
        if self.failed == self.times:
            return ""
        return f"fail({self.call!r}): {self.failed} of {self.times} calls failed; {self.seen} were made"


class PortCalls:
    """The calls of all ports that it gave out: how often each was made, and which are to fail."""

    def __init__(self) -> None:
        self.made: Counter[str] = Counter()
        self.faults: list[CallFault] = []

    def through(self, port: P) -> P:
        """Return a port that counts its calls and fails as told, and is else the one given."""
        return cast("P", _Counted(port, self._call))

    def fail(
        self,
        call: str,
        nth: int,
        times: int,
        error: PortError | None,
        *,
        done: bool,
        where: Callable[..., bool],
    ) -> CallFault:
        """Let calls fail.

        Raises:
            ValueError: there is no such call, or `nth` or `times` is below 1.
            TypeError: the error is no PortError.
        """
        one_of("fail", call, _CALLS)
        if nth < 1 or times < 1:
            raise ValueError(f"fail: nth and times count from 1: {nth}, {times}")
        error = UnavailableError(f"{call} failed, as the test wants it") if error is None else error
        if not isinstance(error, PortError):
            raise TypeError(f"fail: {error!r} is no PortError: a call that raises it is a defect")
        fault = CallFault(call=call, nth=nth, times=times, error=error, done=done, where=where)
        self.faults.append(fault)
        return fault

    def _call(self, name: str, call: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
        self.made[name] += 1
        failing = [fault for fault in self.faults if fault.call == name and fault.meets(*args, **kwargs)]
        if not failing:
            return call(*args, **kwargs)
        if any(fault.done for fault in failing):
            call(*args, **kwargs)
        raise failing[0].error


class _Counted:
    """A port whose calls go through `call`."""

    def __init__(self, port: object, call: Callable[..., Any]) -> None:
        self._port = port
        self._call = call

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401
        found = getattr(self._port, name)
        return partial(self._call, name, found) if name in _CALLS else found
