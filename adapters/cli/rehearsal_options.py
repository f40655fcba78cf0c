"""The options that rehearse, compare and sweep share: as Typer reads them, and as values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Final, TypeAlias

import msgspec
import typer

from treenail.adapters.api.documents import Manifest
from treenail.adapters.cli.at_option import taken_apart
from treenail.adapters.cli.manifest_files import manifests_of
from treenail.adapters.cli.price_overrides import own_prices
from treenail.adapters.cli.problems import BadInputError
from treenail.adapters.cli.rehearsal_run import RehearsalRun, actions_of, seconds_of
from treenail.adapters.cli.report_file import names_of
from treenail.adapters.cli.told_settings import said_by
from treenail.adapters.settings.settings import ProvisionFor
from treenail.domain.packing.problem import NODE_OVERHEAD_COST

_MOST_WRITES: Final = 100_000

Files: TypeAlias = Annotated[
    list[str], typer.Option("--file", "-f", help="Manifests to apply at the start; - is stdin.")
]
Seed: TypeAlias = Annotated[int, typer.Option(help="The seed: equal seeds give equal rehearsals.")]
Duration: TypeAlias = Annotated[str, typer.Option("--for", help="The time to rehearse, in virtual time.")]
At: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--at",
        metavar="TIME ACTION",
        help="Do something at this time: spot-interruption[=NODE], scale=NAME:REPLICAS, delete=KIND/NAME, "
        "apply=FILE, ice=TYPE/ZONE, zone-lost=ZONE, rebalance[=NODE], terminate[=NODE], impaired[=NODE], "
        "unhealthy[=NODE], api-away=DURATION, queue-gone=DURATION, templates-gone, ami-published=ALIAS, "
        "crash[=DURATION], and "
        "ec2-WHAT=DURATION, where WHAT is away, throttled, slow, answers-lost, hidden, no-templates or "
        "no-profile.",
    ),
]
EarlyBinding: TypeAlias = Annotated[
    bool, typer.Option("--early-binding", help="Bind pods to their nodes before the machines join.")
]
NodeRepair: TypeAlias = Annotated[
    bool, typer.Option("--node-repair", help="Replace nodes that stay unhealthy.")
]
ProvisionForOption: TypeAlias = Annotated[
    ProvisionFor | None,
    typer.Option("--provision-for", help="Plan nodes for pods still to come, or for those there."),
]


def _pods_a_second(written: str) -> float:
    try:
        pods = float(written)
    except ValueError:
        pods = 0.0
    # Not a number is not between any two.
    if not 1 <= pods <= _MOST_WRITES:
        problem = f"is not a number of pods a second from 1 to {_MOST_WRITES:,}, such as 20"
        raise BadInputError(f"--pod-writes {written!r} {problem}")
    return pods


PodWrites: TypeAlias = Annotated[
    float | None,
    typer.Option(
        "--pod-writes",
        parser=_pods_a_second,
        metavar="N",
        help="How many pods a second are made of ReplicaSets, StatefulSets and Jobs; else all at once.",
    ),
]
Others: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--with",
        metavar="FILE",
        help="Manifests of side B; those of a name that -f has too take its place, and pools take "
        "the place of all pools.",
    ),
]
OtherSettings: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--with-setting", metavar="NAME=VALUE", help="A setting of side B alone."),
]

_POOLS: Final = ("NodePool", "Provisioner")


class RehearsalOptions(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """The options of a rehearsal as the user wrote them. Each action is a time and what is done then.

    `others` and `other_settings` are the additional files and settings of side B; without them there is one
    side.
    """

    files: tuple[str, ...]
    duration: str
    actions: tuple[tuple[str, str], ...] = ()
    settings: tuple[str, ...] = ()
    early_binding: bool = False
    node_repair: bool = False
    provision_for: ProvisionFor | None = None
    pod_writes: float | None = None
    price_overrides_file: Path | None = None
    node_overhead_cost: float = NODE_OVERHEAD_COST
    region: str = ""
    others: tuple[str, ...] = ()
    other_settings: tuple[str, ...] = ()

    @property
    def two_sides(self) -> bool:
        """True if there is a side B."""
        return bool(self.others or self.other_settings)

    @property
    def title(self) -> str:
        """The names of what is on each side, as a title has them."""
        if not self.two_sides:
            return names_of(self.files)
        b = (*((names_of(self.others),) if self.others else ()), *self.other_settings)
        return f"A: {names_of(self.files)}; B: {', '.join(b)}"

    def runs(self, *, skips: bool = True) -> tuple[RehearsalRun, ...]:
        """Read the files, and return what is rehearsed on each side: with seed 0.

        With `skips`, an action that cannot be done is left out: what one side or seed has, such as a spot
        node, another may lack.

        Raises:
            BadInputError: an option cannot be followed.
            ManifestError: a file cannot be read.
        """
        seconds = seconds_of(self.duration)
        shared = said_by(self.settings)
        others = said_by(self.other_settings, "--with-setting")
        a = RehearsalRun(
            actions=actions_of(self.actions, seconds),
            manifests=manifests_of(self.files),
            seconds=seconds,
            said=self._said(shared),
            pod_writes=self.pod_writes,
            prices=own_prices(self.price_overrides_file),
            region=self.region,
            skips=skips,
        )
        if not self.two_sides:
            return (a,)
        b = replace(
            a,
            manifests=in_place_of(a.manifests, manifests_of(self.others)),
            said=self._said({**shared, **others}),
        )
        return (a, b)

    def _said(self, written: Mapping[str, str]) -> dict[str, str]:
        """Return the settings of a side, by variable: those `written`, else those of flags."""
        flags: dict[str, str] = {}
        if self.early_binding:
            flags["EARLY_BINDING"] = "true"
        if self.provision_for is not None:
            flags["PROVISION_FOR"] = self.provision_for.value
        if self.node_overhead_cost != NODE_OVERHEAD_COST:
            flags["NODE_OVERHEAD_COST"] = _dollars(self.node_overhead_cost)
        said = {**flags, **written}
        if self.node_repair:
            # Of a gate that is named twice the last value counts.
            said["FEATURE_GATES"] = f"NodeRepair=true,{written.get('FEATURE_GATES', '')}"
        return said

    def arguments(self) -> Iterator[str]:
        """Yield the arguments that say all this on a command line."""
        for option, values in (("-f", self.files), ("--with", self.others)):
            yield from (part for value in values for part in (option, value))
        yield from ("--for", self.duration)
        for time, action in self.actions:
            yield from ("--at", time, action)
        for option, values in (("--setting", self.settings), ("--with-setting", self.other_settings)):
            yield from (part for value in values for part in (option, value))
        if self.early_binding:
            yield "--early-binding"
        if self.node_repair:
            yield "--node-repair"
        if self.provision_for is not None:
            yield from ("--provision-for", self.provision_for.value)
        if self.pod_writes is not None:
            yield from ("--pod-writes", f"{self.pod_writes:g}")
        if self.price_overrides_file is not None:
            yield from ("--price-overrides-file", f"{self.price_overrides_file}")
        if self.node_overhead_cost != NODE_OVERHEAD_COST:
            yield from ("--node-overhead-cost", _dollars(self.node_overhead_cost))
        if self.region:
            yield from ("--region", self.region)


def _dollars(amount: float) -> str:
    """Write an amount as options and settings read it: without an exponent."""
    return f"{Decimal(repr(amount)):f}"


def options_of(said: Mapping[str, Any]) -> RehearsalOptions:
    """Return the options that a command was given, from its parameters by name: all commands name them alike.

    Raises:
        BadInputError: an action was written with an equals sign.
    """
    return RehearsalOptions(
        files=tuple(said["file"] or ()),
        duration=said["duration"],
        actions=tuple(taken_apart(one) for one in said["at"] or ()),
        settings=tuple(said["setting"] or ()),
        early_binding=said["early_binding"],
        node_repair=said["node_repair"],
        provision_for=said["provision_for"],
        pod_writes=said["pod_writes"],
        price_overrides_file=said["price_overrides_file"],
        node_overhead_cost=said["node_overhead_cost"],
        region=said["region"],
        others=tuple(said.get("others") or ()),
        other_settings=tuple(said.get("with_setting") or ()),
    )


def in_place_of(before: Iterable[Manifest], after: Iterable[Manifest]) -> tuple[Manifest, ...]:
    """Return the manifests of side B: those of `before`, less what those of `after` take the place of.

    A pool among `after` takes the place of all pools; any other object, that of the one of its kind and name.
    """
    new = tuple(after)
    named: Mapping[tuple[str, str, str], None] = {(m.kind, m.namespace, m.name): None for m in new}
    pools = any(m.kind in _POOLS for m in new)
    kept = (
        m for m in before if (m.kind, m.namespace, m.name) not in named and not (pools and m.kind in _POOLS)
    )
    return (*kept, *new)
