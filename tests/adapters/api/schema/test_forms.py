from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treenail.adapters.api.amounts import amount, check_threshold
from treenail.adapters.api.errors import FieldError
from treenail.adapters.api.names import is_label_key, is_label_value, is_subdomain
from treenail.adapters.api.schema import cel
from treenail.adapters.api.schema.rules import forms, kubelet
from treenail.adapters.api.schema.structural import LONGEST_QUANTITY, QUANTITY
from treenail.domain.model.durations import parse_duration

pieces = st.sampled_from(["a", "Z", "9", "-", "_", ".", "/", "a" * 31, "example.com"])
names = st.lists(pieces, max_size=6).map("".join) | st.text("aZ9-_./", max_size=70)
amounts = st.lists(
    st.sampled_from(["0", "1", "100", "99", ".", "5", "e3", "E-2", "+", "k", "Gi", "m", "K", "%", " "]),
    max_size=4,
).map("".join)
spans = st.lists(
    st.sampled_from(["0", "1", "30", "1.5", ".5", "s", "m", "h", "ms", "µs", "d", "+", " "]), max_size=6
).map("".join)


def agree(pattern: str, text: str, readable: bool) -> None:  # noqa: FBT001
    assert (re.search(pattern.replace("$", r"\Z"), text) is not None) == readable, text


@given(names.filter(lambda n: len(n) <= forms.LONGEST_SUBDOMAIN))
def test_keys_are_those_that_are_read(key: str) -> None:
    agree(forms.KEY, key, is_label_key(key))


@given(names)
def test_values_are_those_that_are_read(value: str) -> None:
    agree(forms.VALUE, value, is_label_value(value))


@given(names.filter(lambda n: len(n) <= forms.LONGEST_SUBDOMAIN))
def test_names_are_those_that_are_read(name: str) -> None:
    agree(forms.SUBDOMAIN, name, is_subdomain(name))


@given(amounts)
def test_quantities_are_those_that_are_read(text: str) -> None:
    agree(QUANTITY, text, well_formed(lambda: amount("storage", text, "")))


@given(amounts)
def test_thresholds_are_those_that_are_read(text: str) -> None:
    agree(str(kubelet.THRESHOLD.keywords["pattern"]), text, well_formed(lambda: check_threshold(text, "")))


@given(spans)
def test_durations_of_go_are_those_that_are_read(text: str) -> None:
    span = parse_duration(text)
    agree(forms.GO_DURATION, text, span is not None and span >= timedelta(0))


def well_formed(check: Callable[[], object]) -> bool:
    """Return whether text is read, but for amounts that are too large: those a rule refuses."""
    try:
        check()
    except FieldError as error:
        return "large" in error.problem
    return True


def test_a_text_that_is_longer_than_any_quantity_is_none() -> None:
    assert not well_formed(lambda: amount("cpu", "0" * (LONGEST_QUANTITY + 1), ""))


def test_literals_stand_for_themselves() -> None:
    assert cel.texts(("a", r"\s+")) == r"['a', r'\s+']"
    with pytest.raises(ValueError, match="quotation mark"):
        cel.text("it's")
