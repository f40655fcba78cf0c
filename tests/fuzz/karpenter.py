"""Karpenter's decision on a scenario, by the program in tests/bench/packing/karpenter."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self, TypeAlias

from tests.fuzz.manifests import Manifest
from tests.fuzz.scenarios import pending, pod_name, text

Written: TypeAlias = dict[str, Any]

_BUILD: Final = Path(__file__).parents[1] / "bench/packing/karpenter/build"


class KarpenterError(Exception):
    """Karpenter's scheduler did not decide."""


def program() -> Path:
    """Return the program, which is built if it is missing; KarpenterError if it cannot be."""
    built = subprocess.run([_BUILD], check=False, stdout=subprocess.PIPE, text=True)  # noqa: S603
    if built.returncode != 0:
        raise KarpenterError("the program that runs Karpenter's scheduler could not be built")
    return Path(built.stdout.strip()) / "karpenter-packing"


class KarpenterProcess:
    """Asks a process of the program, run with a flag of its own, until the `with` block ends.

    `file` is what the scenario to ask about is written to.
    """

    def __init__(self, flag: str, folder: Path, catalogue: Path) -> None:
        self.file = folder / f"asked{flag}.json"
        command = [str(program()), flag, "-instance-types", str(catalogue)]
        self._process = subprocess.Popen(  # noqa: S603
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.terminate()
        self._process.communicate()

    def ask(self, line: str) -> Written:
        """Return the answer to a line.

        Raises:
            KarpenterError: it failed on what it was asked, or its process ended.
        """
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()
        said = self._process.stdout.readline()
        if not said:
            raise KarpenterError("its process ended")
        answer: Written = json.loads(said)
        if "error" in answer:
            raise KarpenterError(str(answer["error"]))
        return answer


class Karpenter(KarpenterProcess):
    """Runs Karpenter's scheduler; `folder` is to write to."""

    def __init__(self, folder: Path, catalogue: Path) -> None:
        super().__init__("-serve", folder, catalogue)

    def decide(self, items: Sequence[Manifest], *, repeat: int = 1) -> Written:
        """Return the last of so many decisions; `seconds` has one figure each.

        Raises:
            KarpenterError: the scheduler failed on the scenario.
        """
        self.file.write_text(text([_with_uid(one) if pending(one) else one for one in items]))
        answers = [self.ask(str(self.file)), *(self.ask("") for _ in range(repeat - 1))]
        seconds = [figure for answer in answers for figure in answer["seconds"]]
        return {**answers[-1], "seconds": seconds}


def _with_uid(pod: Manifest) -> Manifest:
    """Return a pod with the uid that `simulate` gives it: uids tell who of equally large ones is first."""
    return {**pod, "metadata": {"uid": pod_name(pod), **pod["metadata"]}}
