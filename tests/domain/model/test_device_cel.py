"""Selectors of devices: what CEL says of a device, and that what is not understood never holds."""

from __future__ import annotations

import subprocess
import sys
from typing import Final

import pytest

from treenail.domain.model.device_selectors import Match, Selector, SelectorError, selector_of
from treenail.domain.model.device_versions import version_of
from treenail.domain.model.devices import AttributeValue, Qualified, Span, Traits

GPU: Final = "gpu.x.io"
A: Final = f"device.attributes['{GPU}']"
C: Final = f"device.capacity['{GPU}']"
_GI: Final = 2**30 * 1000
_VERSION: Final = version_of("12.4.0")
assert _VERSION is not None
_ATTRIBUTES: Final[dict[Qualified, AttributeValue]] = {
    (GPU, "cores"): 8,
    (GPU, "ecc"): True,
    (GPU, "model"): "Big GPU",
    (GPU, "version"): _VERSION,
}
WHOLE: Final = Traits(
    driver=GPU,
    attributes=tuple(_ATTRIBUTES.items()),
    capacity=(((GPU, "memory"), Span(40 * _GI, 40 * _GI)),),
)
# One to be bought: there is more to it, and its memory is known within bounds.
PARTLY: Final = Traits(
    driver=GPU,
    attributes=tuple(_ATTRIBUTES.items()),
    capacity=(((GPU, "memory"), Span(36 * _GI, 41 * _GI)),),
    partly=True,
)


@pytest.mark.parametrize(
    "expression",
    [
        "true",
        f"device.driver == '{GPU}'",
        f"device.driver.startsWith('gpu.') && {A}.ecc",
        f"{A}.cores == 8 && {A}.cores + 1 > 8",
        f"{A}.model == 'Big GPU'",
        f"{A}.model.matches('^Big')",
        f"{A}.model.lowerAscii().contains('big')",
        f"{A}.model in ['Small GPU', 'Big GPU']",
        f"'model' in {A}",
        f"has({A}.model)",
        f"['a', 'Big GPU'].exists(one, one == {A}.model)",
        f"{A}.version.compareTo(semver('12.3.9')) > 0",
        f"{A}.version.isGreaterThan(semver('12.4.0-rc.1'))",
        f"{A}.version.isLessThan(semver('12.10.0'))",
        f"{C}.memory.compareTo(quantity('30Gi')) >= 0",
        f"{C}.memory.isLessThan(quantity('50G'))",
        f"{A}.cores == 1 || {A}.ecc",
        f"{A}.cores == 8.0 && 8.0 == {A}.cores && {A}.cores != 8.5 && {A}.cores > 7.5",
        f"{A}.cores == 8u && {A}.cores < 9u && {A}.cores < 18446744073709551615u",
        f"{A}.cores in [7.0, 8.0] && !({A}.cores in [7.5])",
        "9007199254740993 <= 9007199254740992.0",
        f"{A}.model.split(' ')[0] == 'Big' && 'GPU' in {A}.model.split(' ')",
        "'a,b,,c'.split(',') == ['a', 'b', '', 'c'] && 'a,b,,c'.split(',', -1).size() == 4",
        "'a,b,,c'.split(',', 2) == ['a', 'b,,c'] && 'a,b'.split(',', 1) == ['a,b']",
        "'a,b'.split(',', 0) == [] && ''.split(',') == [''] && ''.split('') == []",
        "'a,b'.split('') == ['a', ',', 'b'] && 'a,b'.split('', 2) == ['a', ',b']",
    ],
)
def test_a_selector_holds_where_what_it_looks_at_is_so(expression: str) -> None:
    assert selector_of(expression).holds(WHOLE) is Match.YES
    assert selector_of(expression).holds(PARTLY) is Match.YES


@pytest.mark.parametrize(
    "expression",
    [
        "false",
        "device.driver == 'other.io'",
        f"{A}.cores > 8",
        f"{A}.model == 'big gpu'",
        f"!{A}.ecc",
        f"{A}.version.isLessThan(semver('12.4.0'))",
        f"{C}.memory.isGreaterThan(quantity('45Gi'))",
        f"{C}.memory.compareTo(quantity('1Ti')) == 0",
    ],
)
def test_a_selector_does_not_hold_where_it_is_not_so(expression: str) -> None:
    assert selector_of(expression).holds(WHOLE) is Match.NO
    assert selector_of(expression).holds(PARTLY) is Match.NO


@pytest.mark.parametrize(
    ("expression", "of_whole"),
    [
        (f"{A}.absent == 'x'", Match.MISSING),
        (f"{A}['absent'] == 'x'", Match.MISSING),
        ("device.attributes['other.io'].model == 'x'", Match.MISSING),
        (f"!('absent' in {A})", Match.YES),
        (f"!has({A}.absent)", Match.YES),
        (f"{A}.all(name, name != 'x')", Match.YES),
        (f"size({A}) == 4", Match.YES),
        (f"{C}.memory.compareTo(quantity('40Gi')) == 0", Match.YES),
        (f"{C}.memory.isGreaterThan(quantity('38Gi'))", Match.YES),
    ],
)
def test_what_is_not_known_of_a_device_to_be_bought_is_no_proof(expression: str, of_whole: Match) -> None:
    assert selector_of(expression).holds(WHOLE) is of_whole
    assert selector_of(expression).holds(PARTLY) is Match.MISSING


@pytest.mark.parametrize(
    ("expression", "said"),
    [
        ("(((", "not understood"),
        ("", "not understood"),
        ("device.driver", "neither true nor false"),
        ("1", "neither true nor false"),
        (f"{A}.cores == '8'", "no matching overload"),
        (f"{A}.ecc == 1", "overload"),
        (f"{A}.ecc != 2", "overload"),
        (f"{A}.ecc in [1]", ""),
        (f"{A}.ecc > 0", ""),
        (f"{A}.ecc + 1 == 2", ""),
        (f"{A}.model > 3", "no matching overload"),
        (f"{A}.ecc.compareTo(true) == 0", "overload"),
        (f"{A}.version.compareTo('12.4.0') == 0", "overload"),
        (f"{C}.memory == 40", "overload"),
        (f"{C}.memory.compareTo(semver('1.0.0')) == 0", "overload"),
        (f"{C}.memory.compareTo(quantity('much')) == 0", "error"),
        (f"{A}.version == semver('12')", "error"),
        ("device.foo == 1", "foo"),
        ("other == 1", "other"),
        (f"{A}.model.unknownFunction()", "unknownFunction"),
        ("cel.bind(x, 1, x == 1)", "bind"),
        ("1 / 0 == 1", ""),
        (f"{A}.cores + 1.0 == 9.0", "overload"),
        (f"{A}.cores * 2u == 16u", "overload"),
        (f"{A}.ecc == 1.0", "overload"),
        (f"{A}.cores < 0.0 / 0.0", "no finite number"),
        (f"{A}.cores in [double('NaN')]", "no finite number"),
        (f"{A}.cores.split(',') == []", "overload"),
        (f"{A}.model.split(1) == []", "overload"),
        (f"{A}.model.split(' ', true) == []", "overload"),
        (f"{A}.model.split(' ')[2] == ''", ""),
        ("'" + "a" * 33 + "'.split('') == []", "more than 32 parts"),
        ("9223372036854775807 + 1 == 0", ""),
        (f"{A}.model.matches('(')", ""),
        ("timestamp('not a time') == timestamp('2026-01-01T00:00:00Z')", ""),
        (f"{A}.cores in 3", ""),
        ("'" + "x" * 10_240 + "' == 'x'", "longer than 10240 characters"),
        ("[" + "1," * 2_000 + "1].all(x, x == 1)", "too long"),
        ("[1, 2].all(a, [1, 2].all(b, [1, 2].all(c, [1].all(d, true))))", "too long"),
        ("(" * 2_000 + "true" + ")" * 2_000, "nested"),
        ("!" * 3_001 + "true", ""),
    ],
)
def test_what_is_not_understood_is_an_error_and_never_holds(expression: str, said: str) -> None:
    with pytest.raises(SelectorError) as caught:
        selector_of(expression).holds(WHOLE)

    assert said in str(caught.value)


def test_what_was_said_of_one_device_is_said_only_of_those_that_are_the_same_in_it() -> None:
    selector: Selector = selector_of(f"{A}.cores == 1")
    one = Traits(driver=GPU, attributes=(((GPU, "cores"), 1),))
    true = Traits(driver=GPU, attributes=(((GPU, "cores"), True),))

    assert selector.holds(one) is Match.YES
    assert selector.holds(Traits(driver=GPU)) is Match.MISSING
    with pytest.raises(SelectorError):
        selector.holds(true)


def test_the_limit_of_recursion_of_the_process_stays_as_it_was() -> None:
    # In a process of its own: here the library may be loaded already.
    code = """
import sys
before = sys.getrecursionlimit()
from treenail.domain.model.device_selectors import selector_of
from treenail.domain.model.devices import Traits
selector_of("device.driver == 'x'").holds(Traits(driver="x"))
assert sys.getrecursionlimit() == before, sys.getrecursionlimit()
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)  # noqa: S603 - our own code


def test_the_library_is_loaded_only_where_a_selector_is_evaluated() -> None:
    code = """
import sys
import treenail.actors.system, treenail.adapters.controller.outside, treenail.adapters.fake.cluster.devices
from treenail.domain.model.device_selectors import selector_of
from treenail.domain.model.devices import Traits
assert "celpy" not in sys.modules
selector_of("device.driver == 'x'").holds(Traits(driver="x"))
assert "celpy" in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)  # noqa: S603 - our own code


def test_claims_that_are_not_followed_evaluate_no_selector() -> None:
    code = """
import sys
from tests.domain.cluster.test_promised_devices import KNOWN, nodes, waiting
from tests.domain.models import model
from tests.builders import START
known = model(*KNOWN, *nodes({1: "p1"}), waiting("p1"))
assert known.snapshot(START).volumes["p1"].device_problem
assert "celpy" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)  # noqa: S603 - our own code
