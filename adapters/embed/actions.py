"""Actions on a rehearsal while it runs, as the command line writes them: `scale=inflate:0`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final, TypeAlias

from treenail.adapters.embed.rehearsal import Rehearsal
from treenail.adapters.fake.ec2.spells import Spell
from treenail.domain.model.durations import parse_duration


@dataclass(frozen=True, slots=True)
class Action:
    """An action as it was written, `at` seconds after the start."""

    at: float
    name: str
    argument: str = ""

    def __str__(self) -> str:
        return f"{self.name}={self.argument}" if self.argument else self.name

    def do(self, rehearsal: Rehearsal) -> None:
        """Do it.

        Raises:
            ValueError: there is nothing (left) it can be done to, or the object is of another kind.
            PortError: the cluster refuses it.
            ManifestError: a file to apply cannot be read.
        """
        _ACTIONS[self.name].do(rehearsal, self.argument)


def _scale(rehearsal: Rehearsal, argument: str) -> None:
    name, replicas = _scaled(argument)
    namespace, _, short = name.rpartition("/")
    rehearsal.scale(short, replicas, namespace=namespace or "default")


def _scaled(argument: str) -> tuple[str, int]:
    name, _, replicas = argument.rpartition(":")
    if not name or not replicas.isdecimal():
        raise ValueError(f"scale={argument}: write scale=NAME:REPLICAS")
    return name, int(replicas)


def _delete(rehearsal: Rehearsal, argument: str) -> None:
    kind, name = _kind_and_name(argument)
    namespace, _, short = name.rpartition("/")
    rehearsal.delete(kind, short, namespace=namespace or "default")


def _kind_and_name(argument: str) -> tuple[str, str]:
    kind, _, name = argument.partition("/")
    if not kind or not name:
        raise ValueError(f"delete={argument}: write delete=KIND/NAME or delete=KIND/NAMESPACE/NAME")
    return kind, name


def _run_out(rehearsal: Rehearsal, argument: str) -> None:
    rehearsal.run_out(*_type_and_zone(argument))


def _type_and_zone(argument: str) -> tuple[str, str]:
    instance_type, _, zone = argument.partition("/")
    if not instance_type or not zone:
        raise ValueError(f"ice={argument}: write ice=TYPE/ZONE, * for any, c5.* for a family")
    return instance_type, zone


def _outage(rehearsal: Rehearsal, argument: str) -> None:
    rehearsal.api_server_away(_seconds("api-away", argument))


def _seconds(name: str, argument: str) -> float:
    span = parse_duration(argument)
    if span is None or span.total_seconds() < 0:
        raise ValueError(f"{name}={argument}: write {name}=DURATION, such as 30s")
    return span.total_seconds()


def _clock(name: str, step: Callable[[Rehearsal, float], object]) -> _Kind:
    def by(argument: str) -> float:
        span = parse_duration(argument)
        if span is None:
            raise ValueError(f"{name}={argument}: write {name}=DURATION, such as -1h or 5s")
        return span.total_seconds()

    return _Kind(lambda r, a: step(r, by(a)), by)


def _spell(spell: Spell) -> _Kind:
    name = f"ec2-{spell.value}"
    return _Kind(lambda r, a: r.ec2_under(spell, _seconds(name, a)), partial(_seconds, name))


def _queue_gone(rehearsal: Rehearsal, argument: str) -> None:
    rehearsal.queue_gone(_seconds("queue-gone", argument))


def _nothing(name: str, argument: str) -> None:
    if argument:
        raise ValueError(f"{name}={argument}: {name} takes no argument")


def _restart(rehearsal: Rehearsal, argument: str) -> None:
    rehearsal.crash()
    rehearsal.restart(after=_seconds("crash", argument or "5s"))


@dataclass(frozen=True, slots=True)
class _Kind:
    """The way an action is done, the check of its argument before the run, and whether it needs one."""

    do: Callable[[Rehearsal, str], object]
    check: Callable[[str], object] = lambda _: None
    needs_argument: bool = True


_Actions: TypeAlias = Mapping[str, _Kind]
_ACTIONS: Final[_Actions] = {
    "scale": _Kind(_scale, _scaled),
    "delete": _Kind(_delete, _kind_and_name),
    "apply": _Kind(lambda r, a: r.apply_file(a)),
    "ice": _Kind(_run_out, _type_and_zone),
    "zone-lost": _Kind(Rehearsal.lose_zone),
    "spot-interruption": _Kind(lambda r, a: r.interrupt(a or None), needs_argument=False),
    "rebalance": _Kind(lambda r, a: r.recommend_rebalance(a or None), needs_argument=False),
    "terminate": _Kind(lambda r, a: r.terminate_outside(a or None), needs_argument=False),
    "impaired": _Kind(lambda r, a: r.impair(a or None), needs_argument=False),
    "unhealthy": _Kind(lambda r, a: r.sicken(a or None), needs_argument=False),
    "api-away": _Kind(_outage, lambda a: _seconds("api-away", a)),
    **{f"ec2-{spell.value}": _spell(spell) for spell in Spell},
    "ami-published": _Kind(Rehearsal.publish_image),
    "templates-gone": _Kind(
        lambda r, _: r.delete_templates(), partial(_nothing, "templates-gone"), needs_argument=False
    ),
    "clock": _clock("clock", Rehearsal.step_clock),
    "cluster-clock": _clock("cluster-clock", Rehearsal.step_cluster_clock),
    "queue-gone": _Kind(_queue_gone, partial(_seconds, "queue-gone")),
    "crash": _Kind(_restart, lambda a: _seconds("crash", a or "5s"), needs_argument=False),
}


def parse_action(at: str, text: str) -> Action:
    """Read an action such as ("60s", "spot-interruption") or ("5m", "scale=inflate:0").

    Raises:
        ValueError: the time is none, the action is unknown, or its argument is not of its form.
    """
    span = parse_duration(at)
    if span is None or span.total_seconds() < 0:
        raise ValueError(f"{at!r} is not a time since the start, such as 60s or 5m")
    name, _, argument = text.partition("=")
    kind = _ACTIONS.get(name)
    if kind is None:
        raise ValueError(f"unknown action {name!r}: there are {', '.join(sorted(_ACTIONS))}")
    if kind.needs_argument and not argument:
        raise ValueError(f"{name} needs an argument: {name}=...")
    kind.check(argument)
    return Action(span.total_seconds(), name, argument)
