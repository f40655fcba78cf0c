from __future__ import annotations

import pytest

from treenail.domain.model.counted import counted


@pytest.mark.parametrize(
    ("number", "said"), [(0, "0 pods"), (1, "1 pod"), (2, "2 pods"), (12_345, "12,345 pods")]
)
def test_only_one_thing_is_told_in_the_singular(number: int, said: str) -> None:
    assert counted(number, "pod") == said


def test_a_verb_that_follows_the_number_is_given_in_both_forms() -> None:
    said = [counted(number, "pod waits", "pods wait") for number in (1, 2)]

    assert said == ["1 pod waits", "2 pods wait"]
