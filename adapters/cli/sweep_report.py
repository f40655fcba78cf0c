"""A sweep as text: the table of distributions, and the commands that repeat the worst seeds."""

from __future__ import annotations

import shlex
import sys

from msgspec.structs import replace

from treenail.adapters.cli.output_format import console_on
from treenail.adapters.cli.rehearsal_options import RehearsalOptions
from treenail.adapters.cli.sweep_shares import named
from treenail.adapters.cli.text_table import write_table
from treenail.adapters.cli.wrapped_lines import write_hanging
from treenail.adapters.embed.actions import parse_action
from treenail.adapters.embed.seed_results import MEASURES
from treenail.adapters.embed.sweep import Distribution, Sweep, WorstSeed
from treenail.domain.model.counted import counted


def command_for(worst: WorstSeed, options: RehearsalOptions, sweep: Sweep) -> str:
    """Return the command that repeats a seed. `rehearse` leaves out the actions that could not be done."""
    if options.two_sides:
        return shlex.join(("treenail", "compare", *options.arguments(), "--seed", f"{worst.seed}"))
    [result] = (r for r in sweep.a if r.seed == worst.seed)
    skipped = {(at, action) for at, action, _ in result.skipped}
    done = tuple(pair for pair in options.actions if _at_and_action(*pair) not in skipped)
    once = replace(options, actions=done)
    return shlex.join(("treenail", "rehearse", *once.arguments(), "--seed", f"{worst.seed}"))


def _at_and_action(time: str, written: str) -> tuple[float, str]:
    action = parse_action(time, written)
    return action.at, f"{action}"


def write_sweep(sweep: Sweep, title: str, commands: dict[WorstSeed, str]) -> None:
    """Write what was swept, what fails, the table, and the worst seeds."""
    console = console_on(sys.stdout)
    seeds = [r.seed for r in sweep.a]
    for line in sweep.verdict():
        write_hanging(console, "", line)
    for condition, side, failed in sweep.failed():
        on = f" on {side.upper()}" if sweep.b else ""
        write_hanging(
            console,
            "",
            f"{condition}{on} with {len(failed):,} of {counted(len(seeds), 'seed')}: {named(failed)}",
        )
    for line in sweep.skipped():
        write_hanging(console, "", line)
    write_hanging(console, "", f"{title}, seeds {seeds[0]} to {seeds[-1]}\n")
    write_table(console, _headers(sweep), _rows(sweep))
    if commands:
        write_hanging(console, "\n", "To repeat the seeds with the highest numbers:")
    for one, command in commands.items():
        on = f" on {one.side.upper()}" if sweep.b else ""
        write_hanging(console, "", f"  seed {one.seed}{on}: {', '.join(one.why)}")
        # Unwrapped, to be copied.
        console.print(f"    {command}", highlight=False, markup=False, soft_wrap=True)


def _headers(sweep: Sweep) -> tuple[str, ...]:
    numbers = "min", "median", "p90", "max", "worst seed"
    return ("", "side", *numbers, "seeds lower", "higher") if sweep.b else ("", *numbers)


def _rows(sweep: Sweep) -> list[list[str]]:
    rows = []
    for name, measure in MEASURES.items():
        for side in sweep.sides:
            found = sweep.distributions(side)[name]
            row = [measure.title if side == "a" else ""]
            if sweep.b:
                row.append(side.upper())
            row += _cells(name, found)
            if side == "b":
                row += [f"{count:,}" for count in sweep.against(name)]
            rows.append(row)
    return rows


def _cells(name: str, found: Distribution | None) -> list[str]:
    if found is None:
        return ["-"] * 5
    measure = MEASURES[name]
    numbers = [measure.text(value) for value in (found.least, found.median, found.p90, found.most)]
    return [*numbers, "" if found.worst is None else f"{found.worst}"]
