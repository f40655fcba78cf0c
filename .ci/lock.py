"""Write the lock files: the exact versions installed here of all that pyproject.toml asks for.

`--check` writes nothing and fails where a lock file is not what would be written.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parent.parent
RUNTIME = ROOT / "requirements.lock"
DEVELOPMENT = ROOT / "requirements-dev.lock"


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
    """Return what each lock file should hold. The development set goes on top of the other."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    runtime = closure(project["dependencies"])
    extras = project["optional-dependencies"]
    everything = closure(
        [*project["dependencies"], *(text for extra in sorted(extras) for text in extras[extra])]
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


def main() -> None:
    """Write the lock files, or with `--check` compare them."""
    stale = {
        path: text for path, text in lock_files().items() if not path.exists() or path.read_text() != text
    }
    if stale and "--check" in sys.argv[1:]:
        raise SystemExit(f"stale: {', '.join(path.name for path in stale)}; run `make lock`")
    for path, text in stale.items():
        path.write_text(text)


if __name__ == "__main__":
    main()
