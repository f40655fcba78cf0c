from __future__ import annotations

import re
from pathlib import Path

import yaml

from tests.adapters.cli.command import treenail
from tests.adapters.cli.convert.cases import EVERY_FIELD
from treenail.adapters.api.conversion import KUBELET, UBUNTU
from treenail.adapters.api.conversion.annotations import V1_FIELDS
from treenail.adapters.api.conversion.old_kinds import ROLE

PAGE = (Path(__file__).parents[4] / "docs/convert.md").read_text()


def test_the_options_named_are_those_of_the_command() -> None:
    there = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", treenail("convert", "--help").out)) - {"--help"}
    named = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", PAGE))

    assert named == there - {"--file", "--output"}


def test_the_annotations_and_the_place_of_the_role_are_those_of_the_code() -> None:
    for name in (KUBELET, UBUNTU, V1_FIELDS, ROLE):
        assert f"`{name}`" in PAGE or f": {name}`" in PAGE


def test_every_field_of_a_provisioner_is_in_the_table() -> None:
    for field in yaml.safe_load(EVERY_FIELD)["spec"]:
        assert re.search(rf"^\|[^|]*`[^`|]*{field}", PAGE, re.MULTILINE), field
