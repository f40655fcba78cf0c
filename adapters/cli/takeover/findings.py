"""Findings: what taking over, or going back, means for one object or setting."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class Verdict(StrEnum):
    """What becomes of an object or a setting."""

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
# Alike findings of a table are put into one line where there are more than so many.
_MOST_ALIKE: Final = 3


@dataclass(frozen=True, slots=True)
class Finding:
    """What becomes of `about`, such as "NodePool default", and why."""

    section: str
    about: str
    verdict: Verdict
    why: str = ""


def is_in_the_way(findings: Iterable[Finding]) -> bool:
    """Return whether something must be done first."""
    return any(one.verdict in _IN_THE_WAY for one in findings)


def as_json(findings: Sequence[Finding]) -> str:
    """Return the findings for programs."""
    told = [
        {"section": one.section, "about": one.about, "verdict": one.verdict.value, "why": one.why}
        for one in findings
    ]
    report = {"inTheWay": is_in_the_way(findings), "findings": told}
    return json.dumps(report, indent=1, ensure_ascii=False) + "\n"


def as_table(findings: Sequence[Finding]) -> str:
    """Return the findings for people, by section; alike ones as one line with their number."""
    lines: list[str] = []
    for section in dict.fromkeys(one.section for one in findings):
        lines.append(section.upper())
        alike: dict[tuple[str, Verdict, str], list[str]] = {}
        for one in (one for one in findings if one.section == section):
            kind, _, name = one.about.partition(" ")
            alike.setdefault((kind, one.verdict, one.why), []).append(name)
        for (kind, verdict, why), names in alike.items():
            shown = [f"{kind} {name}".strip() for name in names]
            if len(shown) > _MOST_ALIKE:
                shown = [f"{len(names)} {kind}s ({names[0]}, {names[1]}, ...)"]
            lines += [f"  {verdict:<15} {about}" + (f": {why}" if why else "") for about in shown]
    lines.append("Something must be done first." if is_in_the_way(findings) else "Nothing is in the way.")
    return "\n".join(lines) + "\n"
