from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from treenail.domain.telemetry.span_trees import SpanTree, grow, orphans
from treenail.domain.telemetry.tracing import Span, SpanContext

NOW = datetime(2026, 3, 1, tzinfo=UTC)
ROOT = SpanContext.root("decide/1")


def span(name: str, parent: SpanContext | None = None, *, at: float = 0) -> Span:
    start = NOW + timedelta(seconds=at)
    context = parent.child(name) if parent else SpanContext.root(name)
    return Span(context=context, parent=parent, name=name, start=start, end=start)


def test_children_come_in_the_order_they_began() -> None:
    decide = span("decide")
    pack, batch = span("pack", decide.context, at=2), span("batch", decide.context, at=1)
    inner = span("inner", pack.context, at=3)

    assert grow([inner, pack, decide, batch]) == (
        SpanTree(decide, (SpanTree(batch), SpanTree(pack, (SpanTree(inner),)))),
    )


def test_children_that_take_no_time_stay_in_the_order_they_are_given() -> None:
    decide = span("decide")
    first, second = span("select", decide.context), span("pack", decide.context)

    assert grow([decide, first, second]) == (SpanTree(decide, (SpanTree(first), SpanTree(second))),)


def test_an_orphan_is_a_root_and_told_apart() -> None:
    decide, lost = span("decide"), span("launch", ROOT, at=1)

    assert grow([lost, decide]) == (SpanTree(decide), SpanTree(lost))
    assert orphans([lost, decide]) == (lost,)


def test_nothing_grows_from_nothing() -> None:
    assert grow([]) == ()
    assert orphans([]) == ()


def flat(trees: tuple[SpanTree, ...]) -> list[Span]:
    return [span for tree in trees for span in (tree.span, *flat(tree.children))]


@given(parents=st.lists(st.integers(0, 20), max_size=12), left_out=st.sets(st.integers(0, 12)))
def test_every_span_is_in_the_trees_once_under_its_parent(parents: list[int], left_out: set[int]) -> None:
    made = [span("0")]
    for number, parent in enumerate(parents, start=1):
        made.append(span(str(number), made[parent % number].context, at=-number))
    written = [one for number, one in enumerate(made) if number not in left_out]

    trees = grow(written)

    assert sorted(s.name for s in flat(trees)) == sorted(s.name for s in written)
    assert {root.span.context for root in trees if root.span.parent} == {s.context for s in orphans(written)}

    def check(tree: SpanTree) -> None:
        assert all(child.span.parent == tree.span.context for child in tree.children)
        for child in tree.children:
            check(child)

    for tree in trees:
        check(tree)
