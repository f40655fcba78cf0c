from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from treenail.adapters.cli.catalogue import catalogue

app = typer.Typer(rich_markup_mode=None)
app.command()(catalogue)


def printed(*arguments: str) -> str:
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    return result.stdout


def as_json(*arguments: str) -> dict[str, Any]:
    return {one["name"]: one for one in json.loads(printed("-o", "json", *arguments))}


def complaint(*arguments: str) -> str:
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 2
    return result.stderr


def test_json_holds_all_that_is_known_of_each_type_of_the_family() -> None:
    found = as_json("--family", "c6a", "--ami-family", "Windows2022", "--root-volume", "50Gi")

    xlarge = found["c6a.xlarge"]
    assert {name.split(".")[0] for name in found} == {"c6a"}
    assert xlarge["allocatable"] == {
        "cpu": "3920m",
        "ephemeral-storage": "44Gi",
        "memory": "6012Mi",
        "pods": "110",
        "vpc.amazonaws.com/PrivateIPv4Address": "14",
        "vpc.amazonaws.com/pod-eni": "18",
    }
    assert xlarge["capacity"]["memory"] == "7577Mi"
    assert xlarge["overhead"] == {"cpu": "80m", "ephemeral-storage": "6Gi", "memory": "1565Mi"}
    assert xlarge["labels"]["node.kubernetes.io/windows-build"] == "10.0.20348"
    assert xlarge["offerings"][:2] == [
        {"zone": "us-east-1a", "capacityType": "on-demand", "price": 0.153},
        {"zone": "us-east-1a", "capacityType": "spot", "price": 0.153},
    ]


def test_labels_leave_out_what_differs_between_nodes_of_a_type() -> None:
    labels = as_json("--family", "t3")["t3.large"]["labels"]

    assert labels["topology.kubernetes.io/region"] == "us-east-1"
    assert not {"topology.kubernetes.io/zone", "karpenter.sh/capacity-type"} & labels.keys()


def test_only_what_can_be_bought_is_offered() -> None:
    found = as_json("--family", "a1")

    assert found["a1.large"]["offerings"] == []
    assert as_json("--family", "a1", "--ami-family", "AL2")["a1.large"]["offerings"] != []


def test_the_table_has_a_line_for_each_type_smallest_first() -> None:
    heading, *rows = printed("--family", "m5d").splitlines()

    assert heading.split() == ["TYPE", "ARCH", "VCPU", "MEMORY", "PODS", "ON-DEMAND", "$/H", "SPOT", "$/H"]
    assert rows[0].split() == ["m5d.large", "amd64", "2", "8", "GiB", "29", "0.1130", "not", "known"]
    assert [row.split()[0] for row in rows][-2:] == ["m5d.24xlarge", "m5d.metal"]


def test_without_a_family_every_type_is_listed() -> None:
    assert len(printed().splitlines()) == 1 + 1386


def test_an_image_family_may_be_written_in_any_case() -> None:
    assert printed("--ami-family", "bottlerocket", "--family", "t3").startswith("TYPE")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--family", "m55"), "--family: there is no instance family 'm55'; there is m5"),
        (("--family", ""), "--family: there is no instance family ''"),
        (("--ami-family", "Windows3"), "'Windows3' is not one of"),
        (("--root-volume", "50Gib"), "--root-volume: '50Gib' is not a quantity"),
        (("--root-volume", "100Mi"), "--root-volume: 100Mi is not from 1Gi to 64Ti"),
        (("--root-volume", "65Ti"), "--root-volume: 65Ti is not from 1Gi to 64Ti"),
        (("--root-volume=-20Gi",), "--root-volume: -20Gi is not from 1Gi to 64Ti"),
        (("--output", "yaml"), "'yaml' is not one of"),
    ],
)
def test_bad_input_is_named_with_its_option(arguments: tuple[str, ...], said: str) -> None:
    assert said in complaint(*arguments)


def test_ones_own_prices_take_the_place_of_the_public_ones(tmp_path: Path) -> None:
    file = tmp_path / "prices.yaml"
    file.write_text("overrides: [{instanceTypes: [c6a.*], capacityTypes: [spot], price: 0.01}]")

    found = as_json("--family", "c6a", "--price-overrides-file", str(file))

    assert found["c6a.xlarge"]["offerings"][:2] == [
        {"zone": "us-east-1a", "capacityType": "on-demand", "price": 0.153},
        {"zone": "us-east-1a", "capacityType": "spot", "price": 0.01},
    ]
