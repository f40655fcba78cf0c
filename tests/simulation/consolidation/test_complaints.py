"""What users of Karpenter complain of: ours beside Karpenter's rule, on the same cluster."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict

import pytest

from tests.simulation.consolidation.complaints import COMPLAINTS, Figures
from tests.simulation.consolidation.sides import Side

# Those that take seconds; the others are for --soak.
SHORT = ("k#1442", "k#2600", "k#678", "a#4907", "k#1829")


def played(name: str, side: Side, note: Callable[[str, object], None]) -> Figures:
    figures = COMPLAINTS[name].figures(side)
    note(side.value, asdict(figures))
    return figures


@pytest.mark.parametrize("name", COMPLAINTS)
def test_what_people_complain_of_is_better_than_by_karpenters_rule(
    name: str, request: pytest.FixtureRequest, record_property: Callable[[str, object], None]
) -> None:
    if not name.startswith(SHORT) and not request.config.getoption("--soak"):
        pytest.skip("takes a while: make soak runs it")
    ours = played(name, Side.OURS, record_property)
    theirs = played(name, Side.KARPENTERS, record_property)

    by = COMPLAINTS[name].better
    # Only a larger share is better; of all else less is.
    sign = -1 if by == "share" else 1
    better = sign * (getattr(theirs, by) - getattr(ours, by))
    assert better > 0 if name.startswith(SHORT) else better >= 0
