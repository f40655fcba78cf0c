from __future__ import annotations

import pickle
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treenail.domain.model.requirements import ANYTHING, Operator, Requirement, Requirements

KEY = "example.com/k"
# Enough to tell apart all sets that can be written over VALUES: beyond and between bounds, and no integers.
UNIVERSE = (
    "a",
    "b",
    "",
    "x1",
    "-1",
    "0",
    "1",
    "2",
    "3",
    "4",
    "5",
    "6",
    "7",
    "05",
    "+5",
    "1_0",
    " 5",
    "9" * 30,
)
VALUES = ("a", "b", "1", "3", "5")
BOUNDS = ("0", "2", "3", "4", "5")


def requirement(
    operator: Operator, *values: str, key: str = KEY, min_values: int | None = None
) -> Requirement:
    return Requirement.of(key, operator, values, min_values=min_values)


COMPARE = {
    Operator.GT: int.__gt__,
    Operator.LT: int.__lt__,
    Operator.GTE: int.__ge__,
    Operator.LTE: int.__le__,
}


def allows(operator: Operator, values: tuple[str, ...], value: str) -> bool:
    """Say what an operator means, in the plainest way: the oracle."""
    match operator:
        case Operator.IN | Operator.NOT_IN:
            return (value in values) == (operator is Operator.IN)
        case Operator.EXISTS | Operator.DOES_NOT_EXIST:
            return operator is Operator.EXISTS
        case _:
            integer = value.lstrip("+-").isdigit() and len(value) < 20
            return integer and COMPARE[operator](int(value), int(values[0]))


listed = st.lists(st.sampled_from(VALUES), max_size=4, unique=True).map(tuple)
WRITTEN: st.SearchStrategy[tuple[Operator, tuple[str, ...]]] = st.one_of(
    st.tuples(st.sampled_from([Operator.IN, Operator.NOT_IN]), listed),
    st.tuples(st.sampled_from([Operator.EXISTS, Operator.DOES_NOT_EXIST]), st.just(())),
    st.tuples(
        st.sampled_from([Operator.GT, Operator.LT, Operator.GTE, Operator.LTE]),
        st.sampled_from(BOUNDS).map(lambda bound: (bound,)),
    ),
)
REQUIREMENTS = WRITTEN.map(lambda written: requirement(written[0], *written[1]))
CONJUNCTIONS = st.lists(
    st.tuples(st.sampled_from(["p", "q", "r"]), WRITTEN).map(
        lambda pair: requirement(pair[1][0], *pair[1][1], key=pair[0])
    ),
    max_size=6,
)


@given(written=WRITTEN)
def test_an_operator_allows_the_values_it_says(written: tuple[Operator, tuple[str, ...]]) -> None:
    operator, values = written

    one = requirement(operator, *values)

    assert [v for v in UNIVERSE if one.has(v)] == [v for v in UNIVERSE if allows(operator, values, v)]


@given(all_written=st.lists(WRITTEN, min_size=1, max_size=4))
def test_an_intersection_allows_what_every_part_allows(
    all_written: list[tuple[Operator, tuple[str, ...]]],
) -> None:
    met = Requirements(requirement(operator, *values) for operator, values in all_written)[KEY]

    expected = [v for v in UNIVERSE if all(allows(o, values, v) for o, values in all_written)]
    assert [v for v in UNIVERSE if met.has(v)] == expected


@given(one=REQUIREMENTS, other=REQUIREMENTS, third=REQUIREMENTS)
def test_intersection_does_not_depend_on_order(
    one: Requirement, other: Requirement, third: Requirement
) -> None:
    assert one.intersection(other) == other.intersection(one)
    assert one.intersection(one) == one
    left, right = one.intersection(other).intersection(third), one.intersection(other.intersection(third))
    assert [v for v in UNIVERSE if left.has(v)] == [v for v in UNIVERSE if right.has(v)]


@given(one=REQUIREMENTS, other=REQUIREMENTS)
def test_two_requirements_intersect_where_their_intersection_allows_something(
    one: Requirement, other: Requirement
) -> None:
    met = one.intersection(other)

    assert one.intersects(other) == other.intersects(one) == (met.complement or bool(met.values))


@given(one=REQUIREMENTS, other=REQUIREMENTS)
def test_a_set_is_written_so_that_it_reads_back(one: Requirement, other: Requirement) -> None:
    met = one.intersection(other)

    again = Requirements(requirement(operator, *values) for operator, values in met.written())[KEY]

    assert again == met


IN_A, IN_5, NOT_A = (
    requirement(Operator.IN, "a"),
    requirement(Operator.IN, "5"),
    requirement(Operator.NOT_IN, "a"),
)
EXISTS, NONE = requirement(Operator.EXISTS), requirement(Operator.DOES_NOT_EXIST)
GT_4, LT_5, GTE_6, LTE_5 = (
    requirement(Operator.GT, "4"),
    requirement(Operator.LT, "5"),
    requirement(Operator.GTE, "6"),
    requirement(Operator.LTE, "5"),
)


@pytest.mark.parametrize(
    ("one", "other", "operator", "text"),
    [
        (IN_A, IN_A, Operator.IN, f"{KEY} In ['a']"),
        (IN_A, IN_5, Operator.DOES_NOT_EXIST, f"{KEY} DoesNotExist"),
        (IN_A, NOT_A, Operator.DOES_NOT_EXIST, f"{KEY} DoesNotExist"),
        (IN_5, NOT_A, Operator.IN, f"{KEY} In ['5']"),
        (IN_A, EXISTS, Operator.IN, f"{KEY} In ['a']"),
        (IN_A, NONE, Operator.DOES_NOT_EXIST, f"{KEY} DoesNotExist"),
        (IN_A, GT_4, Operator.DOES_NOT_EXIST, f"{KEY} DoesNotExist"),
        (IN_5, GT_4, Operator.IN, f"{KEY} In ['5']"),
        (IN_5, LT_5, Operator.DOES_NOT_EXIST, f"{KEY} DoesNotExist"),
        (IN_5, LTE_5, Operator.IN, f"{KEY} In ['5']"),
        (NOT_A, EXISTS, Operator.NOT_IN, f"{KEY} NotIn ['a']"),
        (NOT_A, NONE, Operator.DOES_NOT_EXIST, f"{KEY} DoesNotExist"),
        (NOT_A, GT_4, Operator.EXISTS, f"{KEY} Gte ['5']"),
        (
            requirement(Operator.NOT_IN, "a", "7"),
            GT_4,
            Operator.NOT_IN,
            f"{KEY} NotIn ['7'] and {KEY} Gte ['5']",
        ),
        (EXISTS, NONE, Operator.DOES_NOT_EXIST, f"{KEY} DoesNotExist"),
        (EXISTS, GT_4, Operator.EXISTS, f"{KEY} Gte ['5']"),
        (GT_4, LT_5, Operator.DOES_NOT_EXIST, f"{KEY} DoesNotExist"),
        (GT_4, LTE_5, Operator.EXISTS, f"{KEY} Gte ['5'] and {KEY} Lte ['5']"),
        (GT_4, GTE_6, Operator.EXISTS, f"{KEY} Gte ['6']"),
        (LT_5, LTE_5, Operator.EXISTS, f"{KEY} Lte ['4']"),
        (GTE_6, LTE_5, Operator.DOES_NOT_EXIST, f"{KEY} DoesNotExist"),
    ],
)
def test_an_intersection_reads_as_karpenter_would_write_it(
    one: Requirement, other: Requirement, operator: Operator, text: str
) -> None:
    met = one.intersection(other)

    assert met.operator is operator
    assert str(met) == text


# Rows are what a node offers, columns what a pod wants, both in the order of SUBJECTS.
SUBJECTS: dict[str, Requirement | None] = {
    "undefined": None,
    "In a": IN_A,
    "In b": requirement(Operator.IN, "b"),
    "In 5": IN_5,
    "NotIn a": NOT_A,
    "Exists": EXISTS,
    "DoesNotExist": NONE,
    "Gt 4": GT_4,
    "Lt 5": LT_5,
    "Gte 6": GTE_6,
    "Lte 5": LTE_5,
}
STRICT = """
    y - - - y - y - - - -
    y y - - - y - - - - -
    y - y - y y - - - - -
    y - - y y y - y - - y
    y - y y y y y y y y y
    y y y y y y - y y y y
    y - - - y - y - - - -
    y - - y y y - y - y y
    y - - - y y - - y - y
    y - - - y y - y - y -
    y - - y y y - y y - y
"""
UNDEFINED_ALLOWED = "y y y y y y y y y y y\n" + "\n".join(STRICT.strip().splitlines()[1:])


def cells(matrix: str) -> list[tuple[str, str, bool]]:
    marks = [mark == "y" for mark in matrix.split()]
    return [(*pair, mark) for pair, mark in zip(product(SUBJECTS, SUBJECTS), marks, strict=True)]


@pytest.mark.parametrize(("offered", "wanted", "fine"), cells(STRICT))
def test_a_node_that_is_there_meets(offered: str, wanted: str, *, fine: bool) -> None:
    node = Requirements(r for r in [SUBJECTS[offered]] if r is not None)
    pod = Requirements(r for r in [SUBJECTS[wanted]] if r is not None)

    assert node.compatible(pod) == fine
    assert (node.conflict(pod) is None) == fine


@pytest.mark.parametrize(("offered", "wanted", "fine"), cells(UNDEFINED_ALLOWED))
def test_a_node_still_to_be_bought_meets(offered: str, wanted: str, *, fine: bool) -> None:
    node = Requirements(r for r in [SUBJECTS[offered]] if r is not None)
    pod = Requirements(r for r in [SUBJECTS[wanted]] if r is not None)

    assert node.compatible(pod, may_be_undefined=frozenset({KEY})) == fine


@given(one=CONJUNCTIONS, other=CONJUNCTIONS)
def test_compatible_is_intersecting_where_undefined_keys_are_allowed(
    one: list[Requirement], other: list[Requirement]
) -> None:
    node, pod = Requirements(one), Requirements(other)
    everything = frozenset({"p", "q", "r"})

    assert node.compatible(pod, may_be_undefined=everything) == node.intersects(pod) == pod.intersects(node)


@given(one=CONJUNCTIONS, other=CONJUNCTIONS)
def test_the_conflict_is_the_first_by_key_and_there_is_one_unless_compatible(
    one: list[Requirement], other: list[Requirement]
) -> None:
    node, pod = Requirements(one), Requirements(other)

    conflict = node.conflict(pod)

    assert (conflict is None) == node.compatible(pod)
    if conflict is not None:
        earlier = Requirements(r for r in pod.values() if r.key < conflict.key)
        assert node.compatible(earlier)
        assert not node.compatible(Requirements([conflict]))


@given(one=CONJUNCTIONS, other=CONJUNCTIONS)
def test_a_conjunction_does_not_depend_on_how_it_is_put_together(
    one: list[Requirement], other: list[Requirement]
) -> None:
    together = Requirements([*one, *other])

    assert together == Requirements(one).with_(other) == Requirements(one).with_(Requirements(other))
    assert together == Requirements([*other, *one])
    assert hash(together) == hash(Requirements(one).with_(other))


def test_a_bound_beyond_64_bits_allows_nothing() -> None:
    assert requirement(Operator.GT, str(2**63 - 1)) == NONE
    assert requirement(Operator.LT, str(-(2**63))) == NONE
    assert requirement(Operator.GTE, str(2**63 - 1)).has(str(2**63 - 1))


@pytest.mark.parametrize("values", [(), ("1", "2"), ("a",), ("1.5",), ("",), ("1_000",), (str(2**63),)])
@pytest.mark.parametrize("operator", [Operator.GT, Operator.LT, Operator.GTE, Operator.LTE])
def test_a_bound_needs_one_integer(operator: Operator, values: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match=f"{operator.value} needs exactly one integer"):
        requirement(operator, *values)


def test_the_larger_min_values_is_kept() -> None:
    flexible = requirement(Operator.IN, "a", "b", min_values=2)

    assert flexible.intersection(requirement(Operator.EXISTS, min_values=3)).min_values == 3
    assert flexible.intersection(NONE).min_values == 2
    assert GT_4.intersection(LT_5).min_values is None


@pytest.mark.parametrize(
    ("one", "single"), [(IN_A, "a"), (requirement(Operator.IN, "a", "b"), None), (NOT_A, None), (NONE, None)]
)
def test_a_single_value_is_one_that_is_listed_alone(one: Requirement, single: str | None) -> None:
    assert one.single == single


def test_labels_are_met_by_themselves_alone() -> None:
    node = Requirements.from_labels({"zone": "a", "arch": "arm64"})

    assert node.compatible(node)
    assert node.conflict(Requirements.from_labels({"zone": "b", "arch": "amd64"})) == Requirement(
        "arch", frozenset({"amd64"})
    )


def test_keys_can_be_left_out() -> None:
    node = Requirements.from_labels({"zone": "a", "arch": "arm64"})

    assert node.without(["zone", "other"]) == Requirements.from_labels({"arch": "arm64"})
    assert "zone" in node


def test_requirements_are_a_value_and_a_mapping() -> None:
    node = Requirements.from_labels({"b": "2", "a": "1"})

    assert pickle.loads(pickle.dumps(node)) == node  # noqa: S301
    assert [r.key for r in node.in_order()] == ["a", "b"]
    assert list(node) == list(node.keys()) == ["b", "a"]
    assert [key for key, _ in node.items()] == ["b", "a"]
    assert node.get("a") is node["a"]
    assert node.get("c") is None
    assert len(ANYTHING) == 0
    assert repr(node) == "Requirements(a In ['1'], b In ['2'])"
    assert node != {"a": "1"}


@given(all_written=st.lists(WRITTEN, min_size=1, max_size=4))
def test_the_value_chosen_is_allowed_and_one_is_found_where_a_label_can_have_any(
    all_written: list[tuple[Operator, tuple[str, ...]]],
) -> None:
    one = Requirements(requirement(operator, *values) for operator, values in all_written)[KEY]
    labels = ("", "a", "b", *map(str, range(10)))

    assert (one.chosen is None) == (not any(one.has(value) for value in labels))
    assert one.chosen is None or one.has(one.chosen)


@pytest.mark.parametrize(
    ("one", "chosen"),
    [
        (requirement(Operator.IN, "b", "", "a"), "a"),
        (requirement(Operator.IN, ""), ""),
        (requirement(Operator.EXISTS), "0"),
        (requirement(Operator.NOT_IN, "0", "2"), "1"),
        (requirement(Operator.GT, "41"), "42"),
        (requirement(Operator.LT, "41"), "0"),
        (requirement(Operator.LT, "0"), None),
        (requirement(Operator.DOES_NOT_EXIST), None),
    ],
    ids=str,
)
def test_the_value_chosen_is_the_first_that_a_label_can_have(one: Requirement, chosen: str | None) -> None:
    assert one.chosen == chosen
