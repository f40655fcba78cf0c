"""The pictures of the documentation, drawn anew from rehearsals: python -m tests.real.pictures FOLDER."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from tests.real.browser import picture
from treenail.adapters.embed.rehearsal import Rehearsal
from treenail.adapters.embed.rehearsal_story import tell_story
from treenail.adapters.embed.rehearsal_summary import summarize
from treenail.adapters.report.page import render
from treenail.adapters.report.story import Story, TraceStory

EXAMPLES: Final = Path(__file__).resolve().parents[2] / "examples"
_BUDGET: Final = """
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: inflate}
spec: {maxUnavailable: 0, selector: {matchLabels: {app: inflate}}}
"""
_WIDTH: Final = 1100
_ROW: Final = 21


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture: its file, what is rehearsed for it, and the trace that it shows; without one, the report."""

    file: str
    rehearse: Callable[[Rehearsal], None]
    trace: Callable[[Story], TraceStory] | None = None
    height: int = 0


def _decision(rehearsal: Rehearsal) -> None:
    rehearsal.apply(EXAMPLES / "001-inflate.yaml")
    rehearsal.run("3m")


def _exhausted(rehearsal: Rehearsal) -> None:
    for zone in ("us-east-1a", "us-east-1b", "us-east-1c"):
        rehearsal.run_out("*", zone)
    rehearsal.apply(EXAMPLES / "001-inflate.yaml")
    rehearsal.run("3m")


def _interrupted(rehearsal: Rehearsal) -> None:
    rehearsal.apply(EXAMPLES / "002-spot.yaml")
    rehearsal.run("5m")
    rehearsal.interrupt()
    rehearsal.run("5m")


def _held_up(rehearsal: Rehearsal) -> None:
    rehearsal.apply(EXAMPLES / "002-spot.yaml", _BUDGET)
    rehearsal.run("5m")
    rehearsal.delete("NodeClaim", rehearsal.claims()[0].name)
    rehearsal.run("5m")
    rehearsal.delete("PodDisruptionBudget", "inflate")
    rehearsal.run("5m")


def _an_hour(rehearsal: Rehearsal) -> None:
    rehearsal.apply(EXAMPLES / "002-spot.yaml")
    rehearsal.scale("inflate", 14)
    rehearsal.run("10m")
    rehearsal.scale("inflate", 60)
    rehearsal.run("8m")
    rehearsal.interrupt()
    rehearsal.run("12m")
    rehearsal.scale("inflate", 9)
    rehearsal.run("10m")
    rehearsal.interrupt()
    rehearsal.run("10m")
    rehearsal.scale("inflate", 25)
    rehearsal.run("10m")


def _first(heading: str) -> Callable[[Story], TraceStory]:
    def found(story: Story) -> TraceStory:
        return dict(story.traces)[heading][0]

    return found


PICTURES: Final = (
    Picture("report.png", _an_hour, height=1180),
    Picture("decision.png", _decision, _first("Decisions")),
    Picture("exhausted-zone.png", _exhausted, _first("Decisions")),
    Picture("interruption.png", _interrupted, _first("Ends of nodes")),
    Picture("blocked-drain.png", _held_up, _first("Ends of nodes")),
)


def draw(one: Picture, folder: Path) -> None:
    """Draw a picture into `folder`."""
    with Rehearsal(seed=0) as rehearsal:
        one.rehearse(rehearsal)
        story = tell_story(
            rehearsal, summarize(rehearsal), "Rehearsal of 002-spot.yaml", "1h of virtual time, seed 0"
        )
    height = one.height
    if one.trace is not None:
        trace = one.trace(story)
        story = Story(title="", subtitle="", seconds=story.seconds, facts=(), traces=(("", (trace,)),))
        height = 90 + _ROW * (len(trace.spans) + sum(bool(span.error) for span in trace.spans))
    with tempfile.TemporaryDirectory() as away:
        page = Path(away) / "page.html"
        page.write_text(render(replace(story, cut=())))
        picture(page.as_uri(), folder / one.file, f"--window-size={_WIDTH},{height}")


def main() -> None:
    """Draw all of them."""
    folder = Path(sys.argv[1])
    folder.mkdir(exist_ok=True)
    for one in PICTURES:
        draw(one, folder)


if __name__ == "__main__":
    main()
