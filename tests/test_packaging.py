from __future__ import annotations

import importlib
import subprocess
import sys
import tomllib
import zipfile
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement

import treenail

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("actors", "adapters", "domain", "testing")
# What lies at the top of the package.
TOP = ("__init__", "pytest_plugin")


def sources() -> set[str]:
    """Return the paths of all modules within the package."""
    below = {str(path.relative_to(ROOT)) for folder in FOLDERS for path in (ROOT / folder).rglob("*.py")}
    return below | {f"{name}.py" for name in TOP}


def in_python(code: str, *, at: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(  # noqa: S603
        [sys.executable, "-I", "-c", code], cwd=at, check=False, capture_output=True, text=True
    )


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    built = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(built), str(ROOT)]
    subprocess.run(command, check=True, capture_output=True)  # noqa: S603
    return next(built.glob("*.whl"))


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_folder_cannot_be_imported_under_its_bare_name(folder: str) -> None:
    with pytest.raises(ImportError, match=f"import treenail.{folder}"):
        importlib.import_module(folder)


def test_no_module_loads_another_under_its_bare_name() -> None:
    names = sorted("treenail." + name.removesuffix(".py").replace("/", ".") for name in sources())
    code = f"""
import importlib, sys
sys.path[:0] = [{str(ROOT / ".dev")!r}, {str(ROOT)!r}]
for name in {names!r}:
    importlib.import_module(name.removesuffix(".__init__"))
print(*sorted(n for n in sys.modules if n.partition(".")[0] in {FOLDERS!r}))
"""

    done = in_python(code, at=ROOT)

    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == ""


def test_the_wheel_holds_every_module_under_treenail_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}

    assert {name for name in names if name.endswith(".py")} == {f"treenail/{name}" for name in sources()}
    assert {"treenail/py.typed", *(f"treenail/{folder}/py.typed" for folder in FOLDERS)} <= names
    assert {name.partition("/")[0] for name in names} == {"treenail"}


def test_the_wheel_holds_the_data_that_the_adapters_read(wheel: Path) -> None:
    data = {
        f"treenail/{path.relative_to(ROOT)}" for path in (ROOT / "adapters").rglob("data/*") if path.is_file()
    }

    with zipfile.ZipFile(wheel) as archive:
        assert data <= set(archive.namelist())


def test_the_wheel_is_imported_without_the_checkout(wheel: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path)
    code = f"""
import sys
sys.path.insert(0, {str(tmp_path)!r})
import treenail.domain.model.resources as resources
print(resources.__file__)
"""

    done = in_python(code, at=tmp_path)

    assert done.stdout.startswith(str(tmp_path)), done.stderr


def brought_by(extra: str) -> set[str]:
    """Return the top-level modules of what only this extra brings."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = {Requirement(text).name for text in project["optional-dependencies"][extra]} - {"treenail"}
    found = packages_distributions()
    return {module for module, brought in found.items() if wanted & {name.lower() for name in brought}}


WITHOUT_EXTRA = """
import sys
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {missing!r}:
            raise ModuleNotFoundError("No module named " + repr(name), name=name)
sys.meta_path.insert(0, Missing())
sys.path[:0] = [{path!r}]
sys.argv = ["treenail", *{words!r}]
"""
COMMAND = """
from treenail.adapters.cli.main import main
main()
"""
A_TEST = """
from treenail.testing import Rehearsal
with Rehearsal() as cluster:
    cluster.apply_file("examples/001-inflate.yaml")
    cluster.run("3m")
    print(len(cluster.nodes()))
"""


def without(missing: set[str], *words: str, run: str = COMMAND) -> subprocess.CompletedProcess[str]:
    code = WITHOUT_EXTRA.format(missing=missing, path=str(ROOT / ".dev"), words=words)
    return in_python(code + run, at=ROOT)


@pytest.mark.parametrize(
    "words",
    [
        ["rehearse", "-f", "examples/001-inflate.yaml", "--for", "10s"],
        ["simulate", "-f", "examples/001-inflate.yaml"],
        ["catalogue", "--family", "t3"],
        ["convert", "-f", "examples/000-weight.yaml"],
    ],
    ids=" ".join,
)
def test_what_reaches_no_cluster_needs_no_extra(words: list[str]) -> None:
    missing = brought_by("controller")
    assert {"boto3", "kubernetes", "opentelemetry", "cryptography"} <= missing

    done = without(missing, *words)

    assert done.returncode == 0, done.stderr


def test_a_test_of_ones_own_needs_no_extra() -> None:
    missing = brought_by("controller") | brought_by("cli")
    assert {"typer", "rich"} <= missing

    done = without(missing, run=A_TEST)

    assert (done.stdout, done.stderr) == ("1\n", "")


@pytest.mark.parametrize(
    ("words", "extra"),
    [
        ((), "cli"),
        (("--version",), "cli"),
        (("rehearse",), "cli"),
        (("rehears",), "cli"),
        (("controller",), "controller"),
        (("top",), "controller"),
        (("takeover", "check"), "controller"),
    ],
)
def test_a_command_without_what_draws_it_says_how_to_get_all_it_needs(
    words: tuple[str, ...], extra: str
) -> None:
    done = without(brought_by("cli"), *words)

    assert done.returncode == 2
    assert done.stderr == (
        f"treenail: this command needs typer, which is not installed: pip install 'treenail[{extra}]'\n"
    )


def test_a_command_that_lacks_the_extra_says_how_to_get_it() -> None:
    done = without({"kubernetes", "urllib3"}, "controller", "--cluster-name", "demo")

    assert done.returncode == 2
    assert done.stderr.endswith("which is not installed: pip install 'treenail[controller]'\n"), done.stderr
    assert done.stderr.count("\n") == 1


def test_a_folder_of_its_name_does_not_hide_the_wheel(wheel: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "site")
    (tmp_path / "work" / "treenail").mkdir(parents=True)
    paths = ["", str(tmp_path / "site")]
    code = f"import sys; sys.path[:0] = {paths!r}; import treenail; print(treenail.__version__)"

    done = in_python(code, at=tmp_path / "work")

    assert done.stdout == f"{treenail.__version__}\n", done.stderr


def test_the_version_is_that_of_the_project() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]

    assert treenail.__version__ == project["version"]


def test_the_pytest_plugin_imports_little_until_it_is_used() -> None:
    code = f"""
import sys
sys.path[:0] = [{str(ROOT / ".dev")!r}]
import treenail.pytest_plugin
print(*sorted(name for name in sys.modules if name.startswith(("treenail.", "numpy", "msgspec"))))
"""

    assert in_python(code, at=ROOT).stdout == "treenail.pytest_plugin\n"


def test_the_wheel_brings_licence_and_command(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        info = {Path(name).name: name for name in archive.namelist() if ".dist-info/" in name}
        commands = archive.read(info["entry_points.txt"]).decode()
        licence = archive.read(info["LICENSE"]).decode()

    assert "[console_scripts]\ntreenail = treenail.adapters.cli.main:main" in commands
    assert "[pytest11]\ntreenail = treenail.pytest_plugin" in commands
    assert "Version 2.0, January 2004" in licence
