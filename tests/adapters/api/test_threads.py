from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]

AT_IMPORT = """
from treenail.adapters.api import kinds, model
made = model._decoder.cache_info().currsize
watched = (*kinds.WATCHED_WORKLOADS, *kinds.TEMPLATED_WORKLOADS)
models = {kind.model for kind in (*kinds.KINDS.values(), *watched)}
for one in models:
    model.prepare(one)
assert model._decoder.cache_info().currsize == made >= len(models), (made, len(models))
"""


def test_every_model_is_made_ready_at_import_before_there_are_threads() -> None:
    """Else two threads that first read models with a class in common may crash the interpreter."""
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-c", AT_IMPORT],
        env={"PYTHONPATH": str(ROOT / ".dev")},
        check=False,
        capture_output=True,
        text=True,
    )

    assert done.returncode == 0, done.stderr
