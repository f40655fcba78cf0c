"""Findings: what taking over, or going back, means for one object or setting."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import typer

from treenail.adapters.cli.output_format import OutputFormat, console_on, write_json
from treenail.adapters.cli.wrapped_lines import write_hanging


class Verdict(StrEnum):
    """Verdicts on objects and settings: what becomes of each."""

    SAME = "same"
    ADOPTED = "adopted"
    DRIFTS = "drifts"
    LEFT_ALONE = "left alone"
    NO_EFFECT = "no effect"
    NOT_SUPPORTED = "not supported"
    TO_DO = "to do"
    FIRST = "first"
    NOT_UNDERSTOOD = "not understood"


# What is in the way: exit code 1.
_IN_THE_WAY: Final = frozenset({Verdict.FIRST, Verdict.NOT_UNDERSTOOD})
# Objects that nobody needs to look at are put into one line where more than so many are alike.
_MOST_ALIKE: Final = 3


@dataclass(frozen=True, slots=True)
class Finding:
    """A verdict on `about`, such as "NodePool default", and the reason for it."""

    section: str
    about: str
    verdict: Verdict
    why: str = ""


def print_findings(findings: Sequence[Finding], output: OutputFormat) -> None:
    """Print the findings.

    Raises:
        typer.Exit: something must be done first: exit code 1.
    """
    in_the_way = any(one.verdict in _IN_THE_WAY for one in findings)
    if output is OutputFormat.JSON:
        told = [
            {"section": one.section, "about": one.about, "verdict": one.verdict.value, "why": one.why}
            for one in findings
        ]
        write_json({"inTheWay": in_the_way, "findings": told})
    else:
        last = "Something must be done first." if in_the_way else "Nothing is in the way."
        console = console_on(sys.stdout)
        for head, text in (*_table(findings), ("", last)):
            write_hanging(console, head, text)
    if in_the_way:
        raise typer.Exit(1)


def _table(findings: Sequence[Finding]) -> Iterator[tuple[str, str]]:
    """Yield lines for people, by section, as (head, text); what is adopted alike is one, with its number."""
    for section in dict.fromkeys(one.section for one in findings):
        yield "", section.upper()
        alike: dict[tuple[str, Verdict, str], list[str]] = {}
        for one in (one for one in findings if one.section == section):
            kind, _, name = one.about.partition(" ")
            alike.setdefault((kind, one.verdict, one.why), []).append(name)
        for (kind, verdict, why), names in alike.items():
            shown = [f"{kind} {name}".strip() for name in names]
            if verdict is Verdict.ADOPTED and len(shown) > _MOST_ALIKE:
                shown = [f"{len(names)} {kind}s ({names[0]}, {names[1]}, ...)"]
            for about in shown:
                yield f"  {verdict:<15} ", f"{about}: {why}" if why else about
