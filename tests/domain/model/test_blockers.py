from __future__ import annotations

import pytest

from tests.builders import START
from treenail.domain.model.blockers import Block, BlockerKind


@pytest.mark.parametrize("block", Block)
def test_the_sentence_of_a_blocker_names_what_it_was_given(block: Block) -> None:
    one = block.by("the-object", "the-detail")

    assert ("the-object" in one.sentence) == ("{name}" in block.sentence)
    assert ("the-detail" in one.sentence) == ("{detail}" in block.sentence)
    assert "{" not in one.sentence


@pytest.mark.parametrize("block", [one for one in Block if one.kind in set(BlockerKind) - {BlockerKind.NODE}])
def test_what_names_an_object_or_says_more_is_grouped_by_what_nodes_have_in_common(block: Block) -> None:
    if "{" in block.sentence and block is not Block.PODS_UNTOLD:
        assert block.by("a", "b").group == block.by("c", "d").group


def test_what_ends_by_itself_says_when() -> None:
    one = Block.WINDOW.by(detail="1m0s", until=START)

    assert one.sentence.endswith("consolidateAfter (1m0s) ago: it stays until 2026-01-01T00:00:00Z")


def test_circumstances_cannot_be_removed() -> None:
    kinds = {one.kind for one in Block if not one.by().removable and one is not Block.UNMANAGED}

    assert kinds == {BlockerKind.MOVES, BlockerKind.PRICE}


def test_a_node_that_nobody_manages_is_not_to_be_freed() -> None:
    assert not Block.UNMANAGED.by().removable
