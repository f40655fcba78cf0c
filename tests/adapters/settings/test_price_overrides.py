from __future__ import annotations

from pathlib import Path

import pytest

from treenail.adapters.api.errors import ManifestError
from treenail.adapters.settings.price_overrides import read_price_overrides
from treenail.domain.model.price_overrides import PriceOverride, PriceOverrides

PAGE = Path(__file__).resolve().parents[3] / "docs" / "catalogue.md"

MISTYPED = (
    'overrides[0].capacityTypes[0]: "ondemand" is not one of on-demand, reserved, spot; did you mean '
    "on-demand?"
)


def read(directory: Path, text: str | bytes) -> PriceOverrides:
    file = directory / "prices.yaml"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_price_overrides(file)


def test_the_example_in_the_documentation_is_read_as_it_says(tmp_path: Path) -> None:
    example = PAGE.read_text().partition("```yaml\n")[2].partition("```")[0]

    assert read(tmp_path, example) == PriceOverrides(
        (
            PriceOverride(instance_types=("m5.2xlarge",), capacity_types=("on-demand",), price=0.0001),
            PriceOverride(instance_types=("m5.*", "m6*"), capacity_types=("on-demand",), factor=0.72),
            PriceOverride(factor=0.95),
        )
    )


def test_json_will_do_too(tmp_path: Path) -> None:
    assert read(tmp_path, '{"overrides": [{"price": 1}]}') == PriceOverrides((PriceOverride(price=1.0),))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "one document with overrides is expected, not 0"),
        ("overrides: []\n---\noverrides: []", "one document with overrides is expected, not 2"),
        ("overrides: [", "line 2: is not YAML: did not find expected node content"),
        (b"\xff", "line 1: is not UTF-8 text"),
        ("[]", "expected a mapping, got a list"),
        ("{}", "overrides: is missing"),
        ("override: []", "override: is not a known field; did you mean overrides?"),
        ("overrides: 3", "overrides: expected a list, got the number 3"),
        ("overrides: [{}]", "overrides[0]: just one of factor and price is needed"),
        ("overrides: [{price: 1, factor: 1}]", "overrides[0]: just one of factor and price is needed"),
        ("overrides: [{price: 1}, {factor: 0}]", "overrides[1].factor: 0.0 is not a number above 0"),
        ("overrides: [{price: -1}]", "overrides[0].price: -1.0 is not a number above 0"),
        ("overrides: [{price: .nan}]", "overrides[0].price: NaN is not a number above 0"),
        ("overrides: [{factor: .inf}]", "overrides[0].factor: Infinity is not a number above 0"),
        ("overrides: [{factor: 10%}]", 'overrides[0].factor: expected a number, got text "10%"'),
        ("overrides: [{factor: true}]", "overrides[0].factor: expected a number, got true"),
        (
            "overrides: [{factor: 1, instanceType: m5.large}]",
            "overrides[0].instanceType: is not a known field; did you mean instanceTypes?",
        ),
        (
            "overrides: [{factor: 1, instanceTypes: []}]",
            "overrides[0].instanceTypes: needs at least 1 item(s)",
        ),
        (
            "overrides: [{factor: 1, instanceTypes: [M5.Large]}]",
            'overrides[0].instanceTypes[0]: "M5.Large" does not match ^[a-z0-9*][a-z0-9.*-]*$',
        ),
        (
            "overrides: [{factor: 1, capacityTypes: [ondemand]}]",
            MISTYPED,
        ),
    ],
)
def test_what_makes_no_sense_is_refused_with_file_and_field(
    text: str | bytes, problem: str, tmp_path: Path
) -> None:
    with pytest.raises(ManifestError) as raised:
        read(tmp_path, text)

    assert str(raised.value) == f"{tmp_path / 'prices.yaml'}: {problem}"


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ManifestError) as raised:
        read_price_overrides(tmp_path / "none")

    assert str(raised.value) == f"{tmp_path / 'none'}: No such file or directory"
