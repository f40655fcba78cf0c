"""The two sides as processes that stay up: each decides once when it is asked, and waits meanwhile."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from tests.bench.packing import peer
from tests.bench.packing.decisions import Decision, read_decision
from tests.bench.packing.freshness import Pods

ROOT: Final = Path(__file__).resolve().parents[3]


class Contestant:
    """A side's process. Use it as a context: it ends with it."""

    def __init__(self, command: Sequence[str | Path]) -> None:
        self._command = [str(part) for part in command]
        self._asked: Path | None = None

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(  # noqa: S603
            self._command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        if kind is not None:
            self._process.kill()
        self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()

    def decide(self, manifests: Path) -> Decision:
        """Have it decide on a file of manifests, which it reads only if it is not the last one.

        Raises:
            UndecidedError: it could not.
            EOFError: its process ended.
        """
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        line = b"\n" if manifests == self._asked else f"{manifests}\n".encode()
        self._process.stdin.write(line)
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        if not answer:
            raise EOFError(f"{self._command[0]} ended with {self._process.wait()}")
        self._asked = None
        decision = read_decision(answer)
        self._asked = manifests
        return decision


def karpenter(catalogue: Path, *, options: Sequence[str] = ()) -> Contestant:
    """Return Karpenter's scheduler.

    Raises:
        PeerNotBuiltError: it is not built.
    """
    return Contestant([peer.program(), "-serve", "-instance-types", catalogue, *options])


def treenail(catalogue: Path, *, pods: Pods = Pods.BARE, settings: Sequence[str] = ()) -> Contestant:
    """Return our packer; `settings` are NAME=VALUE."""
    given = [part for setting in settings for part in ("--set", setting)]
    return Contestant(
        [sys.executable, "-m", "tests.bench.packing.ours", catalogue, "--pods", pods.value, *given]
    )
