from __future__ import annotations

import pickle
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treenail.domain.model.resources import (
    NOTHING,
    Resources,
    amount_of,
    format_amount,
    parse_quantity,
    total,
)

NAMES = ("cpu", "memory", "pods", "ephemeral-storage", "nvidia.com/gpu")
AMOUNTS = st.integers(-(2**40), 2**40)
VECTORS = st.dictionaries(st.sampled_from(NAMES), AMOUNTS).map(Resources)
POSITIVE = st.dictionaries(st.sampled_from(NAMES), st.integers(0, 2**40)).map(Resources)
# A vector with every name, so that nothing depends on which are left out.
WHOLE = st.tuples(*(AMOUNTS for _ in NAMES)).map(lambda amounts: Resources(zip(NAMES, amounts, strict=True)))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0", "0"),
        ("1", "1"),
        ("+1", "1"),
        ("-1", "-1"),
        ("1.", "1"),
        (".5", "0.5"),
        ("1.5", "1.5"),
        ("100m", "0.1"),
        ("1n", "1e-9"),
        ("1u", "1e-6"),
        ("1k", "1000"),
        ("1M", "1e6"),
        ("1G", "1e9"),
        ("1T", "1e12"),
        ("1P", "1e15"),
        ("1E", "1e18"),
        ("1Ki", "1024"),
        ("1Mi", "1048576"),
        ("1Gi", "1073741824"),
        ("1Ti", "1099511627776"),
        ("1Pi", "1125899906842624"),
        ("7Ei", "8070450532247928832"),
        ("1.5Gi", "1610612736"),
        ("1e3", "1000"),
        ("1E3", "1000"),
        ("1e+2", "100"),
        ("1.5e3", "1500"),
        ("1e-3", "0.001"),
        ("1e0003", "1000"),
        ("12e6", "12000000"),
        ("9223372036854775807", "9223372036854775807"),
        ("0.333333333333333333333333333333333Ei", "384307168202282325.333333333333332949024495051106"),
    ],
)
def test_a_quantity_is_read_as_kubernetes_reads_it(text: str, value: str) -> None:
    assert abs(parse_quantity(text) - Decimal(value)) < Decimal("1e-12")


@pytest.mark.parametrize(
    "text",
    [
        "",
        " 1",
        "1 ",
        "1 Gi",
        "abc",
        "Gi",
        ".",
        "1K",
        "1ki",
        "1mi",
        "1GiB",
        "1e",
        "1e+",
        "1e3m",
        "1.2.3",
        "--1",
        "1_000",
        "1,5",
        "0x10",
        "inf",
        "nan",
        "1h",
        "\u0661",
        "1" * 65,
        True,
        None,
    ],
)
def test_what_kubernetes_refuses_is_no_quantity(text: str) -> None:
    with pytest.raises(ValueError, match="is not a quantity"):
        parse_quantity(text)


@pytest.mark.parametrize("text", ["8Ei", "10E", "1e19", "-1e19", "9223372036854775808", "1e9999"])
def test_a_quantity_beyond_64_bits_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="larger than any quantity"):
        parse_quantity(text)


@pytest.mark.parametrize(
    ("resource", "text", "amount"),
    [
        ("cpu", "1", 1000),
        ("cpu", 2, 2000),
        ("cpu", 0.25, 250),
        ("cpu", "100m", 100),
        ("cpu", "0.0005", 1),
        ("cpu", "0.1m", 1),
        ("cpu", "1e-20", 1),
        ("cpu", "-1500u", -2),
        ("cpu", "9223372036854775807", 9223372036854775807000),
        ("memory", "100m", 1),
        ("memory", "1.5", 2),
        ("memory", "-0.5", -1),
        ("memory", "1Gi", 2**30),
        ("memory", "0.333333333333333333333333333333333Ei", 384307168202282326),
        ("pods", "58", 58),
        ("nvidia.com/gpu", "1k", 1000),
    ],
)
def test_an_amount_is_counted_in_its_unit_and_rounded_away_from_zero(
    resource: str, text: str, amount: int
) -> None:
    assert amount_of(resource, text) == amount


@pytest.mark.parametrize(
    ("resource", "amount", "text"),
    [
        ("cpu", 0, "0"),
        ("cpu", 1155, "1155m"),
        ("cpu", 4000, "4"),
        ("memory", 0, "0"),
        ("memory", 120 * 2**20, "120Mi"),
        ("memory", 2**40, "1Ti"),
        ("memory", 3 * 2**39, "1536Gi"),
        ("memory", 1025, "1025"),
        ("memory", -1024, "-1Ki"),
        ("hugepages-2Mi", 2**21, "2Mi"),
        ("ephemeral-storage", 20 * 2**30, "20Gi"),
        ("pods", 1024, "1024"),
    ],
)
def test_an_amount_is_written_as_a_person_would(resource: str, amount: int, text: str) -> None:
    assert format_amount(resource, amount) == text


@given(resource=st.sampled_from(NAMES), amount=AMOUNTS)
def test_what_is_written_reads_back_as_it_was(resource: str, amount: int) -> None:
    assert amount_of(resource, format_amount(resource, amount)) == amount


def test_a_wrong_quantity_is_reported_with_its_resource() -> None:
    with pytest.raises(ValueError, match="memory: 'lots' is not a quantity"):
        Resources.parse({"cpu": 1, "memory": "lots"})


def test_quantities_are_parsed_and_formatted_by_name() -> None:
    parsed = Resources.parse({"memory": "1Gi", "cpu": "500m"})

    assert parsed == Resources({"cpu": 500, "memory": 2**30})
    assert list(parsed.format().items()) == [("cpu", "500m"), ("memory", "1Gi")]
    assert repr(parsed) == "Resources({'cpu': '500m', 'memory': '1Gi'})"


@given(one=VECTORS, other=VECTORS, third=VECTORS)
def test_sums_do_not_depend_on_order(one: Resources, other: Resources, third: Resources) -> None:
    assert one.plus(other) == other.plus(one)
    assert one.plus(other).plus(third) == one.plus(other.plus(third)) == total((third, one, other))


@given(one=VECTORS)
def test_nothing_changes_nothing(one: Resources) -> None:
    assert one.plus(NOTHING) == NOTHING.plus(one) == one.minus(NOTHING) == one


@given(one=WHOLE, other=WHOLE)
def test_what_is_added_can_be_taken_away_again(one: Resources, other: Resources) -> None:
    assert one.plus(other).minus(other) == one


@given(one=VECTORS, other=VECTORS)
def test_a_difference_names_what_the_left_side_names(one: Resources, other: Resources) -> None:
    left = one.minus(other)

    assert left.keys() == one.keys()
    assert all(left[name] == one[name] - other.get(name, 0) for name in left)


@given(one=VECTORS, other=VECTORS)
def test_arithmetic_leaves_its_operands_alone(one: Resources, other: Resources) -> None:
    before = dict(one), dict(other)

    one.plus(other)
    one.minus(other)
    one.largest(other)
    one.at_least_zero()

    assert (dict(one), dict(other)) == before


@given(one=POSITIVE, other=POSITIVE)
def test_the_largest_is_the_least_that_holds_both(one: Resources, other: Resources) -> None:
    largest = one.largest(other)

    assert one.fits(largest)
    assert other.fits(largest)
    assert all(amount in (one.get(name, 0), other.get(name, 0)) for name, amount in largest.items())


@given(request=VECTORS, room=VECTORS)
def test_a_request_fits_where_nothing_is_short_or_overdrawn(request: Resources, room: Resources) -> None:
    overdrawn = any(amount < 0 for amount in room.values())

    assert request.fits(room) == (not overdrawn and not request.shortages(room))


@given(one=POSITIVE, other=POSITIVE, room=POSITIVE)
def test_two_requests_fit_where_the_second_fits_what_the_first_leaves(
    one: Resources, other: Resources, room: Resources
) -> None:
    together = one.plus(other).fits(room)

    assert together == (one.fits(room) and other.fits(room.minus(one)))


def test_room_that_is_overdrawn_anywhere_holds_not_even_nothing() -> None:
    assert not NOTHING.fits(Resources({"cpu": -1, "memory": 10}))


def test_a_resource_the_room_does_not_name_holds_only_a_request_of_zero() -> None:
    room = Resources({"cpu": 1})

    assert Resources({"cpu": 1, "nvidia.com/gpu": 0}).fits(room)
    assert not Resources({"nvidia.com/gpu": 1}).fits(room)


def test_shortages_are_named_in_order() -> None:
    request = Resources({"pods": 1, "memory": 2, "cpu": 3})

    assert request.shortages(Resources({"cpu": 3})) == ("memory", "pods")


def test_negative_amounts_are_raised_to_zero() -> None:
    assert Resources({"cpu": -5, "memory": 5}).at_least_zero() == Resources({"cpu": 0, "memory": 5})


@given(one=VECTORS)
def test_a_vector_is_a_value(one: Resources) -> None:
    same = Resources(reversed(list(one.items())))

    assert one == same
    assert hash(one) == hash(same)
    assert pickle.loads(pickle.dumps(one)) == one  # noqa: S301


def test_a_vector_reads_as_a_mapping() -> None:
    vector = Resources({"cpu": 1, "memory": 2})

    assert "cpu" in vector
    assert "pods" not in vector
    assert vector.get("pods") is None
    assert vector.get("pods", 0) == 0
    assert list(vector) == list(vector.keys()) == ["cpu", "memory"]
    assert list(vector.values()) == [1, 2]
    assert {**vector} == {"cpu": 1, "memory": 2}
    assert vector != {"cpu": 1, "memory": 2}
    with pytest.raises(KeyError):
        vector["pods"]
