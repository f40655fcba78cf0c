from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from treenail.domain.telemetry.bounded_values import bounded_list, bounded_text


@given(st.lists(st.text(max_size=300), max_size=300), st.integers(min_value=0, max_value=200))
def test_a_list_is_cut_and_says_how_much_is_left_out(values: list[str], most: int) -> None:
    told = bounded_list("x", values, most)

    shown = told["x"]
    assert isinstance(shown, tuple)
    assert shown == tuple(values[: len(shown)])
    assert told["x.count"] == len(values)
    assert told.get("x.left_out", 0) == len(values) - len(shown)
    assert len(shown) <= most
    assert sum(map(len, shown)) <= 3_000


@given(st.text(max_size=200), st.integers(min_value=1, max_value=150))
def test_a_text_is_cut_and_says_how_much_is_left_out(text: str, most: int) -> None:
    told = bounded_text(text, most)

    if len(text) <= most:
        assert told == text
    else:
        assert told == f"{text[:most]}... ({len(text) - most} more characters)"
