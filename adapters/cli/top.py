"""`treenail top`: the nodes of a live cluster in a terminal, as they change."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Final

import typer
from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from treenail.adapters.cli.kubeconfig import Context, Kubeconfig
from treenail.adapters.cli.output_format import console_on
from treenail.adapters.cli.problems import BadInputError
from treenail.domain.cluster.shown_state import ShownNode, StateShown, shown_state
from treenail.domain.explain.explanation import ago
from treenail.domain.explain.node_progress import Progress, progress_of, waits_for
from treenail.domain.model import labels
from treenail.domain.model.claim_prices import price_of
from treenail.domain.model.counted import counted
from treenail.domain.model.resources import Resources, total

if TYPE_CHECKING:
    from treenail.adapters.cli.live_cluster import LiveCluster

_HOURS_A_MONTH: Final = 730
_BAR: Final = 10
_COLUMNS: Final = ("node", "type", "zone", "as", "pool", "$/h", "pods", "cpu", "memory", "age", "state")
# What a terminal of 80 columns has room for.
_NARROW: Final = ("node", "type", "$/h", "pods", "cpu", "memory", "state")
_NARROWEST_NAME: Final = 8
_WIDE_FROM: Final = 130
_FULL: Final = 0.9
_SHORTEST_SECONDS: Final = 0.5
_STYLES: Final = {Progress.READY: "green", Progress.LEAVING: "red", Progress.CORDONED: "red"}


def top(
    every: Annotated[float, typer.Option(help="Seconds between two looks; at least half a second.")] = 1.0,
    once: Annotated[  # noqa: FBT002 (a flag)
        bool, typer.Option("--once", help="Print one look, and end.")
    ] = False,
    kubeconfig: Kubeconfig = None,
    context: Context = None,
) -> None:
    """Show the nodes, what they cost and how full they are, and the pods that wait."""
    if not every >= _SHORTEST_SECONDS:
        raise BadInputError(f"--every {every:g} is less than {_SHORTEST_SECONDS:g} seconds")
    with _open(kubeconfig, context) as cluster, cluster.follow() as followed:
        console = console_on(sys.stdout)
        model = followed.contents.model
        if once or not console.is_terminal:
            console.print(shown(shown_state(model, datetime.now(UTC)), width=console.width))
            return
        with Live(console=console, screen=True, auto_refresh=False) as live:
            try:
                while True:
                    followed.learn()
                    state = shown_state(model, datetime.now(UTC))
                    live.update(shown(state, _fitting(console), console.width), refresh=True)
                    time.sleep(every)
            except KeyboardInterrupt:
                return


def _open(kubeconfig: Kubeconfig, context: Context) -> LiveCluster:
    from treenail.adapters.cli.live_cluster import LiveCluster  # noqa: PLC0415

    return LiveCluster.open(kubeconfig, context)


def _fitting(console: Console) -> int:
    """Return how many nodes a screen shows."""
    return max(console.height - 8, 1)


def shown(state: StateShown, most: int | None = None, width: int = _WIDE_FROM) -> Group:
    """Return the state as it is printed: the sums, then the nodes, at most so many, the dearest first.

    Below 130 columns there are fewer of the table, names without their domain, and shares without bars.
    """
    wide = width >= _WIDE_FROM
    nodes = sorted(state.nodes, key=lambda n: (-(_price(n) or 0.0), n.view.name))
    kept = nodes if most is None else nodes[:most]
    parts: list[Text | Table] = [_sums(state, wide=wide), _table(kept, state.now, width)]
    if len(kept) < len(nodes):
        parts.append(Text(f"and {counted(len(nodes) - len(kept), 'more node')}", style="dim"))
    for waiting in state.waiting[:3]:
        place = f", has a place on {waiting.promised}" if waiting.promised else ", has no place yet"
        parts.append(Text(f"waits: {waiting.pod.key}{place}", style="yellow"))
    if len(state.waiting) > 3:  # noqa: PLR2004 (as many as are named)
        more = counted(len(state.waiting) - 3, "more pod waits", "more pods wait")
        parts.append(Text(f"and {more}", style="yellow"))
    return Group(*parts)


def _sums(state: StateShown, *, wide: bool) -> Text:
    rate = sum(_price(node) or 0.0 for node in state.nodes)
    unpriced = sum(_price(node) is None for node in state.nodes)
    pods = sum(len(node.pods) for node in state.nodes)
    used, room = total(map(_used, state.nodes)), total(node.view.allocatable for node in state.nodes)
    said = Text(
        f"{counted(len(state.nodes), 'node')}  ${rate:,.3f}/h  ${rate * _HOURS_A_MONTH:,.0f}/month"
        + (f" (without {unpriced} of unknown price)" if unpriced else "")
        + f"  {counted(pods, 'pod')}, {len(state.waiting)} waiting  "
    )
    for name in ("cpu", "memory"):
        said.append(f"{name} ")
        said.append_text(_bar(used.get(name, 0), room.get(name, 0), bar=wide))
        said.append("  ")
    return said


def _table(nodes: Iterable[ShownNode], now: datetime, width: int) -> Table:
    """Return the table of the nodes. Only their names are shortened: half a number says something else."""
    wide = width >= _WIDE_FROM
    columns = _COLUMNS if wide else _NARROW
    rows = [dict(zip(_COLUMNS, _cells(node, now, wide=wide), strict=True)) for node in nodes]
    widths = {name: max((len(name), *(len(row[name]) for row in rows))) for name in columns}
    spaces = 2 * len(columns)
    left = width - spaces - sum(widths[name] for name in columns if name != "node")
    table = Table(box=None)
    for name in columns:
        table.add_column(name, no_wrap=True, max_width=max(left, _NARROWEST_NAME) if name == "node" else None)
    for row in rows:
        table.add_row(*(row[name] for name in columns))
    return table


def _cells(node: ShownNode, now: datetime, *, wide: bool) -> tuple[str | Text, ...]:
    """Return what is said of a node, in the order of all columns."""
    view, own = node.view, node.view.labels
    price, used, room = _price(node), _used(node), node.view.allocatable
    progress = progress_of(view)
    state = Text(progress.value, style=_STYLES.get(progress, "yellow"))
    why = waits_for(view) if wide else ""
    made = next(thing.created_at for thing in (view.claim, view.node) if thing is not None)
    name = view.node_name or view.name
    return (
        name if wide else name.partition(".")[0],
        own.get(labels.INSTANCE_TYPE, ""),
        own.get(labels.ZONE, ""),
        own.get(labels.CAPACITY_TYPE, ""),
        view.pool,
        "" if price is None else f"{price:.4f}",
        f"{len(node.pods)}",
        _bar(used.get("cpu", 0), room.get("cpu", 0), bar=wide),
        _bar(used.get("memory", 0), room.get("memory", 0), bar=wide),
        ago(made, now).removesuffix(" ago"),
        state.append(f": {why}", style="dim") if why else state,
    )


def _price(node: ShownNode) -> float | None:
    return price_of(node.view.claim) if node.view.claim is not None else None


def _used(node: ShownNode) -> Resources:
    return total(pod.spec.requests for pod in node.pods if pod.bound)


def _bar(used: int, room: int, *, bar: bool = True) -> Text:
    """Return how full something is, as a bar and in percent; nothing where there is no room."""
    if not room:
        return Text("")
    share = used / room
    style = "red" if share > _FULL else "green"
    if not bar:
        return Text(f"{share:4.0%}", style=style)
    filled = min(round(share * _BAR), _BAR)
    drawn = Text("#" * filled, style=style)
    drawn.append("." * (_BAR - filled), style="dim")
    return drawn.append(f"{share:4.0%}", style="default")
