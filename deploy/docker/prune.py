"""Take from an environment what no command of Treenail's loads: `python prune.py ENVIRONMENT`."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

# Of the official client we use configuration and connections. The rest is loaded by name alone.
_CLIENT: Final = ("kubernetes/aio", "kubernetes/client/api/*_api.py", "kubernetes/client/models/*_*.py")
_UNUSED: Final = (
    *_CLIENT,
    "**/tests",
    "numpy/distutils",
    "numpy/f2py",
    "numpy/**/*.a",
    "**/*.pyi",
    "numpy/_core/include",
    # Numpy loads these on first use, and nothing that is computed here uses them.
    "numpy/fft",
    "numpy/polynomial",
    "numpy/random",
    "numpy/testing",
    "numpy/_core/*_tests.*.so",
    "numpy/_core/_simd.*.so",
    "numpy/**/*.pxd",
    # What cel-python's dates bring: no selector of devices has any, and the zones are the system's.
    "pendulum/locales/[!e_]*",
    "tzdata/zoneinfo/*/*",
    # What rich colours sources by; this one is for tracebacks.
    "pygments/lexers/[!_]*.py",
    "pygments/lexers/_*_builtins.py",
    # What compiles bindings to C; those of cryptography are compiled, and load `_cffi_backend` alone.
    "cffi",
    "pycparser",
    # What boto3 makes its resources of; here are only clients.
    "boto3/data",
    "boto3/examples",
)
_KEPT: Final = frozenset({"python.py"})
# The services that are called; boto3 looks for credentials by the last four.
_SERVICES: Final = frozenset(
    {"ec2", "eks", "iam", "pricing", "sqs", "ssm", "signin", "sso", "sso-oidc", "sts"}
)


def unused(packages: Path) -> Iterator[Path]:
    """Yield the files and folders below `packages` that nobody needs."""
    for pattern in _UNUSED:
        yield from (path for path in packages.glob(pattern) if path.name not in _KEPT)
    for service in (packages / "botocore" / "data").iterdir():
        if service.is_dir() and service.name not in _SERVICES:
            yield service


def main(environment: Path) -> None:
    """Remove what is not used from an environment."""
    [packages] = environment.glob("lib/python3*/site-packages")
    for path in sorted(unused(packages)):
        # A folder within one that went is gone already.
        shutil.rmtree(path, ignore_errors=True) if path.is_dir() else path.unlink(missing_ok=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
