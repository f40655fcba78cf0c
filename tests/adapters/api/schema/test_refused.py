from __future__ import annotations

import re

import pytest

from tests.adapters.api.builders import problem_of
from tests.adapters.api.schema.refused_classes import REFUSED_CLASSES
from tests.adapters.api.schema.refused_pools import REFUSED_POOLS

REFUSED = REFUSED_POOLS | REFUSED_CLASSES


@pytest.mark.parametrize("case", sorted(REFUSED))
def test_what_the_api_server_must_refuse_is_refused_by_reading_too(case: str) -> None:
    tree, field = REFUSED[case]

    _, read, problem = problem_of(tree).split(": ", maxsplit=2)

    # One may name an item or entry where the other names what it stands in.
    one, other = sorted((plain(read), plain(field)), key=len)
    assert other.startswith(one)
    assert not problem.startswith("there is no")


def plain(path: str) -> str:
    """Write "a[b.c]" as "a.b.c", and leave "a[0]"."""
    return re.sub(r"\[(\D[^]]*)\]", r".\1", path)
