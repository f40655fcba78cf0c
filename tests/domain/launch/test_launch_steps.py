from __future__ import annotations

from treenail.domain.launch.launch_steps import MarkClaim, again, first

CALL = "5f1e"


def test_attempts_at_a_step_are_counted_and_are_of_one_step() -> None:
    step = MarkClaim(name="c1", token=CALL)

    tried = again(again(step))

    assert tried == MarkClaim(name="c1", token=CALL, attempt=2)
    assert first(tried) == step
