from __future__ import annotations

import pytest

from tests.fuzz.devices.contest import NotBuiltError, allocated, allocator, counted
from tests.fuzz.devices.scenes import scene

SEEDS = range(1, 401)


def test_claims_that_are_counted_to_fit_are_allocated_by_the_scheduler() -> None:
    try:
        program = allocator(build=False)
    except NotBuiltError as error:
        pytest.skip(str(error))
    scenes = [scene(seed) for seed in SEEDS]

    said = allocated(program, scenes)

    ours = [counted(one)[0] for one in scenes]
    assert [seed for seed, fits, one in zip(SEEDS, ours, said, strict=True) if fits and not one["fits"]] == []
    assert sum(ours) > 20


def test_scenes_have_claims_that_fit_and_some_that_do_not() -> None:
    ours = [counted(scene(seed))[0] for seed in range(1, 101)]

    assert 3 < sum(ours) < 97
