from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("actors", "adapters", "domain", "package", "testing")


def lint(tree: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(  # noqa: S603
        [str(Path(sys.executable).parent / "lint-imports"), "--no-cache"],
        cwd=tree,
        env={**os.environ, "PYTHONPATH": ".dev", "COLUMNS": "200"},
        check=False,
        capture_output=True,
        text=True,
    )


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A copy of the sources to do wrong in."""
    for folder in FOLDERS:
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / ".dev", tmp_path / ".dev", symlinks=True)
    shutil.copy(ROOT / ".importlinter", tmp_path)
    return tmp_path


def test_imports_go_one_way(tree: Path) -> None:
    done = lint(tree)

    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    ("path", "code", "complaint"),
    [
        ("adapters/stray.py", "", "- treenail.adapters.stray"),
        ("domain/wrong.py", "import time", "treenail.domain.wrong -> time"),
        ("domain/stray.py", "", "- treenail.domain.stray"),
        ("domain/packing/stray.py", "", "- treenail.domain.packing.stray"),
        (
            "domain/model/wrong.py",
            "import treenail.domain.cluster.promises",
            "treenail.domain.model.wrong -> treenail.domain.cluster.promises",
        ),
        (
            "domain/packing/arrays/wrong.py",
            "import treenail.domain.packing.nodes.type_choice",
            "treenail.domain.packing.arrays.wrong -> treenail.domain.packing.nodes.type_choice",
        ),
        ("adapters/embed/wrong.py", "import treenail.testing", "adapters.embed.wrong -> treenail.testing"),
        ("testing/wrong.py", "import treenail.pytest_plugin", "testing.wrong -> treenail.pytest_plugin"),
        ("domain/wrong.py", "import numpy", "treenail.domain.wrong -> numpy"),
        ("domain/wrong.py", "import treenail.actors", "treenail.domain.wrong -> treenail.actors"),
        (
            "actors/wrong.py",
            "import treenail.adapters.fake",
            "treenail.actors.wrong -> treenail.adapters.fake",
        ),
        ("adapters/fake/wrong.py", "import pykka", "treenail.adapters.fake.wrong -> pykka"),
        (
            "adapters/fake/wrong.py",
            "import treenail.adapters.telemetry",
            "treenail.adapters.fake.wrong -> treenail.adapters.telemetry",
        ),
    ],
)
def test_the_check_refuses(tree: Path, path: str, code: str, complaint: str) -> None:
    wrong = tree / path
    wrong.parent.mkdir(exist_ok=True)
    wrong.write_text(f"{code}\n")

    done = lint(tree)

    assert done.returncode == 1
    assert complaint in done.stdout


def test_packing_may_compute_with_arrays(tree: Path) -> None:
    (tree / "domain/packing/nodes/right.py").write_text("import numpy\n")

    assert lint(tree).returncode == 0
