"""A rehearsal as the command line asks for it: manifests, settings, actions and a length."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Final

from treenail.adapters.api.manifests import Decoded, Manifest, decode_all, read_manifests
from treenail.adapters.api.reading import LONG_AGO
from treenail.adapters.cli.output_format import warn
from treenail.adapters.cli.problems import BadInputError
from treenail.adapters.cli.region_option import home_meant
from treenail.adapters.cli.told_settings import told_by
from treenail.adapters.controller.system_settings import system_settings
from treenail.adapters.embed import Conditions, Rehearsal
from treenail.adapters.embed.actions import Action, parse_action
from treenail.adapters.embed.applied import decode_leniently
from treenail.adapters.embed.home import Home, not_known
from treenail.adapters.embed.node_class_problems import check_node_classes
from treenail.adapters.fake.cluster import ClusterSettings
from treenail.adapters.settings.settings import Settings
from treenail.domain.model.durations import parse_duration
from treenail.domain.model.errors import PortError
from treenail.domain.model.not_acted_on import less_gated
from treenail.domain.model.price_overrides import NO_OVERRIDES, PriceOverrides

LONGEST_HOURS: Final = 24 * 31
# Virtual seconds from one look at how far it has come to the next.
_LOOK_EVERY: Final = 10.0
# What startup taints wait for, mostly agents of DaemonSets, is there so many seconds after its node.
_UNTAINTED_AFTER: Final = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RehearsalRun:
    """A rehearsal to run, `seconds` long. `said` are settings by variable.

    `region` is where it is, by default as the manifests say. With `skips`, an action that cannot be done is
    noted in the timeline, and the rehearsal goes on.
    """

    manifests: tuple[Manifest, ...]
    seconds: float
    seed: int = 0
    actions: tuple[Action, ...] = ()
    said: Mapping[str, str] = field(default_factory=dict)
    pod_writes: float | None = None
    prices: PriceOverrides = NO_OVERRIDES
    skips: bool = False
    region: str = ""


def check(run: RehearsalRun) -> None:
    """Make sure that a rehearsal can begin, and warn on stderr of what is accepted but not acted on.

    Raises:
        ManifestError: something is wrong with a manifest.
        BadInputError: a setting cannot be followed.
    """
    decoded = decode_all(run.manifests, keep_parts=True)
    told = told_by(decoded, run.manifests, run.said)
    home = home_meant(decoded, run.region)
    conditions = replace(_conditions(run, told, decoded, home), snapshot=None)
    with Rehearsal(seed=run.seed, conditions=conditions) as rehearsal:
        check_node_classes(
            decoded, run.manifests, lambda p, c: rehearsal.ec2.instance_types(c, p.kubelet or c.kubelet)
        )
    followed = less_gated(decoded.warnings, static_capacity=told.feature_gates["StaticCapacity"])
    warn((*followed, *told.warnings, *home.warnings, *not_known(decoded), *_broken(run.actions)))


def _broken(actions: Sequence[Action]) -> Iterator[str]:
    """Yield a line on each object that is to be applied later, as it is, and cannot be used then."""
    for action in actions:
        if action.name == "apply":
            for error in decode_leniently(action.argument, LONG_AGO).set_aside:
                yield f"{error}; nothing comes of this object when it is applied"


@contextmanager
def rehearsed(run: RehearsalRun, progress: Callable[[float], None] = lambda _: None) -> Iterator[Rehearsal]:
    """Rehearse what was checked, and give what came of it. `progress` is told the virtual seconds.

    Raises:
        BadInputError: an action cannot be done, unless the run skips it.
    """
    decoded = decode_all(run.manifests, keep_parts=True)
    told = told_by(decoded, run.manifests, run.said)
    home = home_meant(decoded, run.region)
    with _begun(run, told, decoded, home) as rehearsal:
        for action in run.actions:
            _advance(rehearsal, action.at, progress)
            try:
                action.do(rehearsal)
            except (ValueError, PortError) as error:
                if run.skips:
                    rehearsal.timeline.add("ActionSkipped", {"action": f"{action}", "why": f"{error}"})
                    continue
                raise BadInputError(f"--at {action.at:g}s {action}: {error}") from None
        _advance(rehearsal, run.seconds, progress)
        yield rehearsal


def _begun(run: RehearsalRun, told: Settings, decoded: Decoded, home: Home) -> Rehearsal:
    try:
        return Rehearsal(seed=run.seed, conditions=_conditions(run, told, decoded, home))
    except PortError as error:
        raise BadInputError(f"the API server would refuse this: {error}") from None


def _conditions(run: RehearsalRun, told: Settings, decoded: Decoded, home: Home) -> Conditions:
    return Conditions(
        system=system_settings(told),
        cluster=ClusterSettings(pod_writes=run.pod_writes),
        prices=run.prices,
        untainted_after=_UNTAINTED_AFTER,
        snapshot=decoded,
    ).beginning_with(told, home)


def _advance(rehearsal: Rehearsal, to: float, progress: Callable[[float], None]) -> None:
    while rehearsal.seconds < to:
        rehearsal.run(min(_LOOK_EVERY, to - rehearsal.seconds))
        progress(rehearsal.seconds)


def seconds_of(duration: str) -> float:
    """Read how long to rehearse, in seconds.

    Raises:
        BadInputError: it is no length of time, or too long.
    """
    span = parse_duration(duration)
    if span is None or not 0 < span.total_seconds() <= LONGEST_HOURS * 3600:
        raise BadInputError(f"--for {duration!r} is not a duration between 1s and 744h, such as 10m")
    return span.total_seconds()


def actions_of(written: Sequence[tuple[str, str]], seconds: float) -> tuple[Action, ...]:
    """Read actions (time, what is done) in the order of their times; what can be checked before the run is.

    Raises:
        BadInputError: one cannot be read, or comes after the end.
        ManifestError: a file that is to be applied cannot be read.
    """
    try:
        actions = [parse_action(time, action) for time, action in written]
    except ValueError as error:
        raise BadInputError(f"--at: {error}") from None
    for action in actions:
        if action.at > seconds:
            raise BadInputError(f"--at {action.at:g}s {action}: comes after the end, at {seconds:g}s")
        if action.name == "apply":
            read_manifests([action.argument])
    return tuple(sorted(actions, key=lambda a: a.at))
