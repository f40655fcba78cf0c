"""Helm, for charts and for one cluster."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Final

from tests.real.parts import binaries

TIMEOUT: Final = 120


class HelmError(Exception):
    """Helm refused. The text is what it wrote on stderr."""


class Helm:
    """Runs helm with a home of its own: `helm("template", "name", chart)` returns its output.

    With a `kubeconfig` it reaches that cluster; without one it reaches none.
    """

    def __init__(self, home: Path, kubeconfig: Path | None = None) -> None:
        """Keep everything in `home`.

        Raises:
            NotBuiltError: helm is not built.
        """
        binaries.require("helm")
        self._env = {
            **os.environ,
            "HOME": str(home),
            **{f"HELM_{kind}_HOME": str(home / kind.lower()) for kind in ("CACHE", "CONFIG", "DATA")},
            "KUBECONFIG": str(kubeconfig or home / "no-kubeconfig"),
        }

    def __call__(self, *words: str | Path) -> str:
        """Return helm's stdout.

        Raises:
            HelmError: it failed.
        """
        done = subprocess.run(  # noqa: S603
            [binaries.program("helm"), *words],
            env=self._env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=TIMEOUT,
            check=False,
        )
        if done.returncode != 0:
            raise HelmError(done.stderr or done.stdout)
        return done.stdout
