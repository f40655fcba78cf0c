"""Inputs of a rehearsal: every call that did something to it, noted so that it can be done again."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

if TYPE_CHECKING:
    from treenail.testing.rehearsal import Rehearsal

C = TypeVar("C", bound=type)
# What changes nothing is not noted: letting time pass is noted by the times of what comes next.
RECORDED: Final = (
    *("apply", "apply_file", "scale", "delete"),
    *("interrupt", "recommend_rebalance", "terminate_outside", "impair", "sicken", "untaint"),
    *("run_out", "restock", "lose_zone", "shift_away", "ec2_under"),
    *("publish_image", "delete_templates", "queue_gone", "api_server_away"),
    *("step_clock", "step_cluster_clock", "crash", "restart", "crash_at", "fail", "set_faults"),
)


@dataclass(frozen=True, slots=True)
class Input:
    """A call with its arguments, after so many steps of the world, at second `at`; whether it `raised`."""

    at: float
    step: int
    call: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    raised: bool = False

    def do(self, rehearsal: Rehearsal) -> None:
        """Do it again. Where it raised then, it may raise again: a part of it may have been done."""
        with contextlib.suppress(*((Exception,) if self.raised else ())):
            getattr(rehearsal, self.call)(*self.args, **self.kwargs)


def recorded(rehearsal: C) -> C:
    """Have a class of rehearsals note its inputs: calls that return, and were not made by another one."""
    for name in RECORDED:
        setattr(rehearsal, name, _noted(name, getattr(rehearsal, name)))
    return rehearsal


def _noted(name: str, method: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(method)
    def call(self: Rehearsal, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
        __tracebackhide__ = True
        if self.within_input:
            return method(self, *args, **kwargs)
        at, step, raised = self.seconds, self.stepped, True
        given = tuple(map(_content, args)) if name == "apply" else args
        self.within_input = True
        try:
            result = method(self, *args, **kwargs)
            raised = False
        finally:
            self.within_input = False
            self.inputs.append(Input(at, step, name, given, kwargs, raised))
        return result

    return call


def _content(applied: object) -> object:
    """Return the text of a file that is applied: it may be another one when it is applied again."""
    return applied.read_text() if isinstance(applied, Path) and applied.is_file() else applied
