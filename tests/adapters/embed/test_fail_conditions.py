from __future__ import annotations

import operator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.adapters.embed.seed_results import result
from treenail.adapters.embed.fail_conditions import fail_condition
from treenail.adapters.embed.seed_results import MEASURES

OPERATORS = {
    "<": operator.lt,
    "<=": operator.le,
    "==": operator.eq,
    "!=": operator.ne,
    ">=": operator.ge,
    ">": operator.gt,
}


@given(
    name=st.sampled_from(sorted(MEASURES)),
    sign=st.sampled_from(sorted(OPERATORS)),
    number=st.integers(-3, 3),
    value=st.integers(-3, 3),
    space=st.sampled_from(["", " "]),
)
def test_a_condition_compares_its_measure_with_its_number(
    name: str, sign: str, number: int, value: int, space: str
) -> None:
    condition = fail_condition(f"{name}{space}{sign}{space}{number}")

    assert condition.holds(result(1, **{MEASURES[name].field: value})) == OPERATORS[sign](value, number)


def test_no_condition_on_a_wait_holds_where_no_pod_waited() -> None:
    nobody = result(1, p99_wait=None)

    assert not fail_condition("p99Wait>0").holds(nobody)
    assert not fail_condition("p99Wait<=0").holds(nobody)


@pytest.mark.parametrize(
    ("written", "complaint"),
    [
        ("", "is not NAME OP NUMBER, such as pending>0"),
        ("pending", "is not NAME OP NUMBER, such as pending>0"),
        ("pending>0 and cost>1", "is not NAME OP NUMBER, such as pending>0"),
        ("__import__('os')>0", "is not NAME OP NUMBER, such as pending>0"),
        ("pendign>0", "there is no measure pendign; did you mean pending?"),
        ("p99wait>0", "there is no measure p99wait; did you mean p99Wait?"),
        ("zeal>0", f"there is no measure zeal: there are {', '.join(MEASURES)}"),
        ("pending=>0", "=> is none of != < <= == > >="),
        ("pending=0", "= is none of != < <= == > >="),
        ("p99Wait>2m", "2m is not a number: p99Wait is in seconds"),
        ("cost>$1", "$1 is not a number: cost is in dollars"),
        ("pending>nan", "nan is not a number: pending is a count"),
        ("pending>inf", "inf is not a number: pending is a count"),
    ],
)
def test_what_is_no_condition_is_refused_with_what_is_meant(written: str, complaint: str) -> None:
    with pytest.raises(ValueError, match=r".") as caught:
        fail_condition(written)

    assert str(caught.value) == complaint
