"""kubectl, for one cluster."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Final

from tests.real.parts import binaries

TIMEOUT: Final = 120


class Kubectl:
    """Runs kubectl with one kubeconfig: `kubectl("apply", "-f", "-", stdin=manifest)` returns its output."""

    def __init__(self, kubeconfig: Path) -> None:
        """Without a file at `kubeconfig`, kubectl would quietly talk to some other cluster.

        Raises:
            NotBuiltError: kubectl is not built.
            FileNotFoundError: there is no such file.
        """
        binaries.require("kubectl")
        self._kubeconfig = kubeconfig.resolve(strict=True)

    def __call__(self, *words: str | Path, stdin: str = "") -> str:
        """Return kubectl's stdout.

        Raises:
            AssertionError: it failed; the message says what it wrote.
        """
        done = subprocess.run(  # noqa: S603
            [binaries.program("kubectl"), *words],
            input=stdin,
            env={**os.environ, "KUBECONFIG": str(self._kubeconfig), "HOME": str(self._kubeconfig.parent)},
            capture_output=True,
            text=True,
            timeout=TIMEOUT,
            check=False,
        )
        if done.returncode != 0:
            raise AssertionError(f"kubectl {' '.join(map(str, words))}: {done.stderr or done.stdout}")
        return done.stdout
