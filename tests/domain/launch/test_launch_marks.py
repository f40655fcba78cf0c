from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import claim
from treenail.domain.launch.launching import LaunchMark
from treenail.domain.model import labels


@given(
    token=st.text("0123456789abcdef", min_size=1),
    index=st.integers(0, 10**9 - 1),
    digest=st.text("0123456789abcdef"),
)
def test_a_mark_is_read_as_it_was_written(token: str, index: int, digest: str) -> None:
    mark = LaunchMark(token, index, digest)

    assert LaunchMark.of(claim("c1", annotations={labels.LAUNCH: str(mark)})) == mark


@pytest.mark.parametrize(
    "text",
    ["", "token", "/1/digest", "token/x/digest", "token/²/digest", "nothing-bought", f"t/{'9' * 5000}/d"],
)
def test_what_is_no_mark_of_ours_is_none(text: str) -> None:
    assert LaunchMark.of(claim("c1", annotations={labels.LAUNCH: text})) is None
