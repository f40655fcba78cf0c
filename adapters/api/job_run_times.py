"""Run times of pods of Jobs that only sleep, as those of examples and trials do.

The command of a container is read here and not kept: it may hold secrets.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import PurePosixPath
from typing import Any, Final

import msgspec

from treenail.adapters.api.documents import Manifest
from treenail.adapters.api.workloads import RUNS_FOR

# Where the template of the pods is.
_TEMPLATES: Final = {
    ("batch/v1", "Job"): ("spec", "template"),
    ("batch/v1", "CronJob"): ("spec", "jobTemplate", "spec", "template"),
}
_SHELLS: Final = frozenset({"ash", "bash", "sh"})
_STATEMENTS: Final = re.compile(r"&&|;|\n")
_SLEEP: Final = re.compile(r"sleep((?:\s+\d+(?:\.\d+)?[smhd]?)+)")
_TIME: Final = re.compile(r"(\d+(?:\.\d+)?)([smhd]?)")
_SECONDS: Final = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}
_AT_ONCE: Final = re.compile(r"(?:echo|printf|date|true|:|exit 0)\b[^$`|<&]*")


def with_run_times(manifests: Sequence[Manifest]) -> tuple[Manifest, ...]:
    """Return the manifests; Jobs whose pods only sleep get the annotation that says for how long."""
    return tuple(_timed(one) if (one.api_version, one.kind) in _TEMPLATES else one for one in manifests)


def _timed(manifest: Manifest) -> Manifest:
    content = manifest.content
    tree = msgspec.json.decode(content) if isinstance(content, bytes) else content
    path = _TEMPLATES[manifest.api_version, manifest.kind]
    template = _at(tree, *path)
    seconds = _run_time(_at(template, "spec"))
    annotations = _at(template, "metadata", "annotations") or {}
    if seconds is None or not isinstance(annotations, Mapping) or RUNS_FOR in annotations:
        return manifest
    said = {**annotations, RUNS_FOR: f"{math.ceil(seconds)}s"}
    return replace(manifest, content=_put(tree, (*path, "metadata", "annotations"), said))


def _at(tree: Any, *path: str) -> Any:  # noqa: ANN401 (whatever somebody wrote)
    for key in path:
        tree = tree.get(key) if isinstance(tree, Mapping) else None
    return tree


def _put(tree: Any, path: Sequence[str], value: object) -> Any:  # noqa: ANN401
    """Return a copy of a tree with a value at a path, whose parts are mappings or not there."""
    if not path:
        return value
    return {**(tree or {}), path[0]: _put((tree or {}).get(path[0]), path[1:], value)}


def _run_time(spec: object) -> float | None:
    """Return how many seconds the containers of a pod sleep, None where one of them does anything else."""
    containers = _at(spec, "containers")
    if not isinstance(containers, list) or not containers:
        return None
    times = [_slept(one) for one in containers]
    return None if None in times else max(time for time in times if time is not None)


def _slept(container: object) -> float | None:
    parts = [_at(container, key) or [] for key in ("command", "args")]
    words = [word for part in parts if isinstance(part, list) for word in part]
    if not words or not all(isinstance(word, str) for word in words):
        return None
    program = PurePosixPath(words[0]).name
    if program in _SHELLS and words[1:2] == ["-c"] and len(words) > 2:  # noqa: PLR2004 (the script itself)
        return _of_script(words[2])
    return _of_script(" ".join([program, *words[1:]])) if program == "sleep" else None


def _of_script(script: str) -> float | None:
    """Return how long a script sleeps that does nothing else but say something, None for any other."""
    statements = [one.strip() for one in _STATEMENTS.split(script) if one.strip()]
    sleeps = [found for one in statements if (found := _SLEEP.fullmatch(one))]
    others = [one for one in statements if not _SLEEP.fullmatch(one) and not _AT_ONCE.fullmatch(one)]
    if not sleeps or others:
        return None
    times = [time for sleep in sleeps for time in _TIME.findall(sleep[1])]
    return sum(float(number) * _SECONDS[unit] for number, unit in times)
