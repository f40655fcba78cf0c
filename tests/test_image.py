"""The Dockerfile of the image, as far as it can be judged unbuilt; `.ci/try-image` builds and runs it all."""

from __future__ import annotations

import os
import re
import shlex
import tomllib
from pathlib import Path
from typing import Final

import pytest
import yaml

from tests.test_permissions import the

ROOT: Final = Path(__file__).resolve().parent.parent
FOLDER: Final = ROOT / "deploy" / "docker"
DOCKERFILE: Final = (FOLDER / "Dockerfile").read_text()
INSTRUCTION: Final = re.compile(r"^([A-Z]+) (.*)$", re.MULTILINE)
STAGES: Final = [
    INSTRUCTION.findall(stage) for stage in re.split(r"^(?=FROM )", DOCKERFILE, flags=re.MULTILINE)
]
LOCKS: Final = [ROOT / "requirements.lock", FOLDER / "sbom.lock"]


def said(stage: int, instruction: str) -> list[str]:
    return [words for name, words in STAGES[stage] if name == instruction]


def test_both_stages_begin_with_one_base_that_is_pinned_by_its_digest() -> None:
    [base] = said(0, "ARG")

    assert re.fullmatch(r"PYTHON=python:3\.11\.\d+-slim-bookworm@sha256:[0-9a-f]{64}", base)
    assert [said(1, "FROM"), said(2, "FROM")] == [["${PYTHON} AS build"], ["${PYTHON}"]]


def test_everything_that_is_copied_is_there_or_built() -> None:
    [copied] = said(1, "COPY")
    *sources, _ = shlex.split(copied)

    assert {source for source in sources if not (ROOT / source).exists()} == {"dist/treenail-*.whl"}
    assert said(2, "COPY") == ["--from=build /opt/treenail /opt/treenail"]


def test_the_image_runs_what_the_chart_runs_as_the_user_that_the_chart_names() -> None:
    [container] = the("Deployment")["spec"]["template"]["spec"]["containers"]
    context = container["securityContext"]

    assert said(2, "USER") == [f"{context['runAsUser']}:{context['runAsGroup']}"]
    assert said(2, "ENTRYPOINT") == ['["treenail"]']
    assert container["args"] == ["controller"]
    assert context["readOnlyRootFilesystem"]
    assert [name for name, _ in STAGES[2]].count("RUN") == 0


def test_what_is_run_is_a_script_that_may_be_run() -> None:
    [command] = said(1, "RUN")

    assert "./build-tree python3 treenail-*.whl /opt/treenail" in command
    assert os.access(FOLDER / "build-tree", os.X_OK)
    assert "--require-hashes" in (FOLDER / "build-tree").read_text()


@pytest.mark.parametrize("lock", LOCKS, ids=lambda path: path.name)
def test_everything_that_is_installed_is_pinned_by_hashes(lock: Path) -> None:
    text = lock.read_text().replace("\\\n", " ")
    requirements = [line for line in text.splitlines() if line and not line.startswith("#")]

    assert len(requirements) > 30
    for requirement in requirements:
        assert re.fullmatch(r"[a-z0-9-]+==[\w.]+( +--hash=sha256:[0-9a-f]{64})+", requirement.rstrip()), (
            requirement
        )


def test_charts_and_pages_name_the_version_of_the_project() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    charts = [
        yaml.safe_load((ROOT / "deploy" / name / "Chart.yaml").read_text()) for name in ("chart", "chart-crd")
    ]

    assert {(chart["version"], chart["appVersion"]) for chart in charts} == {(version, version)}
    for page in ((ROOT / "docs" / "install.md").read_text(), DOCKERFILE):
        assert set(re.findall(r"treenail:(\d[\w.]*)", page)) == {version}
