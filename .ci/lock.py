"""Write the lock files: the exact versions installed here of all that pyproject.toml asks for.

What Treenail runs on is locked with the hashes of its files for every platform, and so is what makes the
image's SBOM. `--check` asks nobody and writes nothing, and fails where versions differ or hashes are missing.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parent.parent
RUNTIME = ROOT / "requirements.lock"
DEVELOPMENT = ROOT / "requirements-dev.lock"
SBOM = ROOT / "deploy" / "docker" / "sbom.lock"
# The oldest version of Python that pyproject.toml allows, which is the image's too.
PYTHON = "3.11"


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def closure(wanted: Iterable[str]) -> dict[str, str]:
    """Return name and version of everything `wanted` pulls in on this machine, by normal name.

    Raises:
        SystemExit: something is not installed, or not in a version that is asked for.
    """
    versions: dict[str, str] = {}
    done: set[tuple[str, str]] = set()
    queue = [(Requirement(text), "pyproject.toml") for text in wanted]
    while queue:
        requirement, asker = queue.pop()
        name = _normal(requirement.name)
        try:
            installed = distribution(name)
        except PackageNotFoundError:
            raise SystemExit(f"{asker} asks for {requirement}, which is not installed") from None
        if not requirement.specifier.contains(installed.version, prereleases=True):
            raise SystemExit(f"{asker} asks for {requirement}, but {installed.version} is installed")
        versions[name] = installed.version
        for extra in ("", *sorted(requirement.extras)):
            if (name, extra) in done:
                continue
            done.add((name, extra))
            queue += [
                (further, name)
                for further in map(Requirement, installed.requires or ())
                if further.marker is None or further.marker.evaluate({"extra": extra})
            ]
    return versions


def lock_files() -> dict[Path, str]:
    """Return what each lock file should hold, less hashes. The development set goes on top."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    # `treenail[cli]` in another extra asks for what is locked anyway.
    asked = {extra: [text for text in extras[extra] if not text.startswith("treenail[")] for extra in extras}
    runtime = closure([*project["dependencies"], *asked["cli"], *asked["controller"]])
    everything = closure(
        [*project["dependencies"], *(text for extra in sorted(asked) for text in asked[extra])]
    )
    development = {name: version for name, version in everything.items() if name not in runtime}
    return {
        RUNTIME: _text("What treenail runs on.", runtime),
        DEVELOPMENT: _text("What working on treenail takes beside requirements.lock.", development),
    }


def _text(title: str, versions: dict[str, str]) -> str:
    lines = [f"# {title} Written by `make lock`; install with --no-deps."]
    lines += [f"{name}=={version}" for name, version in sorted(versions.items())]
    return "\n".join(lines) + "\n"


def versions_of(path: Path) -> str:
    """Return a lock file's text less its hashes, and less what should have some and has none."""
    lines = path.read_text().splitlines() if path.exists() else []
    if path == RUNTIME:
        lines = [line for line in lines if line.startswith("#") or line.endswith(" \\")]
        lines = [line for line in lines if "--hash" not in line]
    return "".join(line.removesuffix(" \\") + "\n" for line in lines)


def hashed(lock: str) -> str:
    """Return a lock file's text with the hashes of all files that the package index has of each version."""
    title = "".join(line for line in lock.splitlines(keepends=True) if line.startswith("#"))
    return title + _compiled(lock, "--no-deps")


def sbom_lock() -> str:
    """Return what makes the SBOM, with hashes, in the newest versions: it runs beside nothing else."""
    title = "# What the SBOM of the image is made with. Written by `make lock`.\n"
    return title + _compiled("cyclonedx-bom>=7,<8\n")


def _compiled(requirements: str, *options: str) -> str:
    command = [
        *(sys.executable, "-m", "uv", "pip", "compile", "-", "--quiet", "--generate-hashes"),
        *("--no-header", "--no-annotate", "--python-version", PYTHON, *options),
    ]
    return subprocess.run(command, input=requirements, check=True, capture_output=True, text=True).stdout  # noqa: S603


def main() -> None:
    """Write the lock files, or with `--check` compare them."""
    stale = {path: text for path, text in lock_files().items() if versions_of(path) != text}
    if "--check" in sys.argv[1:]:
        if stale:
            raise SystemExit(f"stale: {', '.join(path.name for path in stale)}; run `make lock`")
        return
    for path, text in stale.items():
        path.write_text(hashed(text) if path == RUNTIME else text)
    SBOM.write_text(sbom_lock())


if __name__ == "__main__":
    main()
