from __future__ import annotations

from dataclasses import replace

from tests.builders import (
    START,
    at,
    changed,
    claim,
    decision,
    gone,
    instance,
    instance_type,
    node_class,
    node_pool,
)
from treenail.domain.cluster.changes import NodeChanged
from treenail.domain.cluster.planning import PlanCommitted
from treenail.domain.disruption.disruption import ClaimGivenUp
from treenail.domain.launch.given_up_claims import GivenUp
from treenail.domain.launch.launch_book import LaunchBook
from treenail.domain.launch.launch_groups import Batch, Group
from treenail.domain.launch.launch_options import LaunchOptions
from treenail.domain.launch.launch_steps import CallFleet, MarkClaim, PrepareBatch, RecordInstance, WriteClaim
from treenail.domain.launch.launch_table import LaunchEvent
from treenail.domain.launch.launching import Launch, launches
from treenail.domain.model import labels
from treenail.domain.model.causes import Cause
from treenail.domain.model.claims import DECISION
from treenail.domain.model.node_pools import NodePool
from treenail.domain.model.nodes import NodeClaim, NodeView
from treenail.domain.telemetry.tracing import Span, SpanContext

LARGE = instance_type("m5.large", 2, price=0.1)


def wanting(name: str, *, pool: str = "default", version: int = 0) -> NodeClaim:
    return replace(claim(name, version=version, pool=pool), instance_types=("m5.large",))


def plan(*claims: NodeClaim) -> PlanCommitted:
    pools = {c.pool: node_pool(c.pool) for c in claims}
    classes = {str(p.node_class): node_class() for p in pools.values()}
    return PlanCommitted(decision=decision(), claims=claims, pools=pools, node_classes=classes)


def seen(of: NodeClaim, *, pool: NodePool | None = None) -> NodeChanged:
    """A claim as the watch tells of it, with what it would be launched from."""
    return replace(changed(NodeView(claim=of)), pool=pool or node_pool(of.pool), node_class=node_class())


def grouped(book: LaunchBook, batch: Batch) -> Group:
    """Open the one group that the claims of a batch make."""
    calls, _ = launches(
        book.claims(batch.names),
        pool=batch.pool,
        node_class=batch.node_class,
        buyable=LaunchOptions((LARGE,)),
        cluster_name="demo",
    )
    book.close(batch.id)
    book.group_up(calls[0], batch, unmarked=calls[0].claims)
    group = book.group(calls[0].request.token)
    assert group is not None
    return group


def writing(*claims: NodeClaim) -> tuple[LaunchBook, Batch]:
    """A book with one batch, all of which is being written."""
    book = LaunchBook()
    (batch,) = book.open(plan(*claims), START)
    book.move(batch.names, LaunchEvent.FLUSHED)
    return book, batch


def mark(of: NodeClaim, launch: Launch) -> NodeClaim:
    annotations = {labels.LAUNCH: str(launch.marks()[of.name])}
    return replace(of, annotations=annotations, resource_version=of.resource_version + 1)


def marking(*names: str) -> tuple[LaunchBook, Group]:
    """A book with one group, none of whose claims is marked yet."""
    book, batch = writing(*(wanting(n) for n in names))
    for name in names:
        book.written(name, wanting(name, version=1))
    return book, grouped(book, batch)


def calling(*names: str) -> tuple[LaunchBook, Group]:
    """A book with one group, all of whose claims are marked: its call may be made."""
    book, group = marking(*names)
    for name in names:
        book.marked_now(name, group.launch.request.token, mark(wanting(name, version=1), group.launch))
    return book, group


def reopened(book: LaunchBook, token: str) -> Batch:
    """Return the batch that is made of a group when one of its claims cannot be marked."""
    (step,) = book.give_over(MarkClaim(name="a", token=token))
    assert isinstance(step, PrepareBatch)
    batch = book.batch(step.batch)
    assert batch is not None
    return batch


def names(batches: tuple[Batch, ...]) -> list[tuple[str, ...]]:
    return [b.names for b in batches]


# --- opening


def test_a_plan_is_taken_on_by_pool() -> None:
    book = LaunchBook()

    batches = book.open(plan(wanting("a"), wanting("x", pool="other"), wanting("b")), at(3))

    assert [(b.pool.name, b.names) for b in batches] == [("default", ("a", "b")), ("other", ("x",))]
    assert book.since("a") == at(3)
    assert book.claim("x") == wanting("x", pool="other")
    assert book.batch(batches[0].id) is batches[0]
    assert book.move(("b", "x"), LaunchEvent.FLUSHED) == (WriteClaim(name="b"), WriteClaim(name="x"))


def test_a_batch_is_ready_when_all_of_it_is_written() -> None:
    book, batch = writing(wanting("a"), wanting("b"))

    assert book.written("a", wanting("a", version=1)) == ()
    assert book.written("b", wanting("b", version=2)) == (PrepareBatch(batch=batch.id),)
    assert book.claims(batch.names) == (wanting("a", version=1), wanting("b", version=2))


def test_a_claim_that_cannot_be_written_is_not_waited_for() -> None:
    book, batch = writing(wanting("a"), wanting("b"))
    book.written("a", wanting("a", version=1))
    refused = WriteClaim(name="b")
    book.move(book.about(refused), LaunchEvent.REFUSED)

    assert book.give_over(refused) == (PrepareBatch(batch=batch.id),)
    assert book.give_over(refused) == ()


def test_what_is_written_late_is_not_worked_on_again() -> None:
    book = LaunchBook()

    assert book.written("stranger", wanting("stranger", version=1)) == ()
    assert book.claim("stranger") is None
    assert book.since("stranger") is None
    assert book.instance("stranger") is None


def test_a_batch_is_closed_once() -> None:
    book = LaunchBook()
    (batch,) = book.open(plan(wanting("a")), START)

    assert book.close(batch.id) is batch
    assert book.close(batch.id) is None
    assert book.batch(batch.id) is None


# --- groups


def test_a_group_is_ready_when_all_its_claims_are_marked() -> None:
    book, group = marking("a", "b")
    token = group.launch.request.token

    assert book.marked_now("a", token, mark(wanting("a", version=1), group.launch)) == ()
    assert book.marked_now("b", token, mark(wanting("b", version=1), group.launch)) == (
        CallFleet(token=token),
    )
    assert book.marked_now("b", token, mark(wanting("b", version=1), group.launch)) == ()
    assert book.waiting_for(token) == ("a", "b")


def test_a_group_ends_with_its_last_claim() -> None:
    book, group = calling("a", "b")
    token = group.launch.request.token

    book.give("a", instance("i-1"))
    book.recorded("a", replace(wanting("a", version=3), provider_id="aws:///a/i-1"))
    assert book.group(token) is group
    book.forget("b")

    assert book.group(token) is None
    assert book.waiting_for(token) == ()


def test_a_claim_that_cannot_be_marked_leaves_the_others_to_be_grouped_anew() -> None:
    book, group = marking("a", "b", "c")
    token = group.launch.request.token
    book.marked_now("c", token, mark(wanting("c", version=1), group.launch))

    book.forget("a")
    batch = reopened(book, token)

    assert batch.names == ("b", "c")
    assert book.group(token) is None
    assert book.give_over(MarkClaim(name="a", token=token)) == ()


def test_nothing_is_left_of_a_group_whose_claims_are_all_gone() -> None:
    book, group = marking("a")

    book.forget("a")

    assert book.give_over(MarkClaim(name="a", token=group.launch.request.token)) == ()


def test_a_claim_in_a_new_group_is_not_waited_for_by_the_old_one() -> None:
    book, old = marking("a", "b")
    for name in ("a", "b"):
        book.note(seen(mark(wanting(name, version=1), old.launch)))
    book.hand_back("a")

    new = grouped(book, reopened(book, old.launch.request.token))

    assert book.waiting_for(old.launch.request.token) == ()
    assert [c.name for c in book.marked(old.launch.request.token)] == ["a"]
    assert new.launch.claims == ("b",)


def test_a_mark_of_before_does_not_come_back_with_late_news() -> None:
    book, old = marking("a", "b")
    book.note(seen(mark(wanting("a", version=1), old.launch)))
    book.forget("a")
    new = grouped(book, reopened(book, old.launch.request.token))
    late = mark(wanting("b", version=1), old.launch)
    book.marked_now("b", new.launch.request.token, mark(late, new.launch))

    book.note(seen(late))

    assert book.waiting_for(new.launch.request.token) == ("b",)
    assert [c.name for c in book.marked(old.launch.request.token)] == ["a"]


def test_a_mark_that_was_taken_off_is_forgotten() -> None:
    book, group = calling("a", "b")

    book.note(seen(wanting("a", version=9)))

    assert [c.name for c in book.marked(group.launch.request.token)] == ["b"]


def test_launched_claims_are_still_their_calls() -> None:
    book, group = calling("a", "b")
    book.give("a", instance("i-1"))
    done = replace(mark(wanting("a", version=2), group.launch), provider_id=instance("i-1").provider_id)

    book.recorded("a", done)

    assert book.marked(group.launch.request.token)[0] == done
    assert book.waiting_for(group.launch.request.token) == ("b",)


def test_an_instance_is_dealt_to_a_claim() -> None:
    book, _ = calling("a")

    assert book.give("a", instance("i-1")) == (RecordInstance(name="a"),)
    assert book.instance("a") == instance("i-1")


def test_all_are_leaving_when_each_that_waits_is() -> None:
    book, group = calling("a", "b")
    token = group.launch.request.token

    for name, answer in (("a", False), ("b", True)):
        leaving = replace(mark(wanting(name, version=5), group.launch), deleting_since=START)
        book.note(seen(leaving))
        assert book.all_leaving(token) is answer


def test_a_claim_that_is_gone_is_not_waited_for() -> None:
    book, group = calling("a", "b")
    token = group.launch.request.token

    book.note(gone("a"))
    assert book.waiting_for(token) == ("b",)
    assert book.claim("a") is None
    book.note(gone("b"))

    assert book.group(token) is None


def test_a_claim_that_is_gone_before_it_is_marked_is_found_out_by_marking_it() -> None:
    book, group = marking("a", "b")

    book.note(gone("a"))

    assert book.claim("a") is not None
    assert book.group(group.launch.request.token) is group


# --- adopting


def test_claims_left_unlaunched_are_adopted_with_those_of_their_call() -> None:
    _, group = calling("a", "b")
    book = LaunchBook()

    for name in ("b", "a"):
        assert book.note(seen(mark(wanting(name, version=1), group.launch)))
    assert book.note(seen(wanting("bare", version=1)))
    assert book.note(seen(wanting("other", version=1, pool="other")))
    batches = book.adopt(at(60))

    assert [(b.token, b.pool.name, b.names) for b in batches] == [
        (group.launch.request.token, "default", ("b", "a")),
        ("", "default", ("bare",)),
        ("", "other", ("other",)),
    ]
    assert book.since("bare") == at(60)
    assert book.waiting_for(group.launch.request.token) == ("a", "b")
    assert book.adopt(at(6)) == ()


def test_what_needs_no_launch_is_not_adopted() -> None:
    book = LaunchBook()
    launched = replace(wanting("a", version=1), provider_id="aws:///a/i-1")
    leaving = replace(wanting("a", version=1), deleting_since=START)
    no_pool = replace(seen(wanting("a", version=1)), pool=None)
    no_class = replace(seen(wanting("a", version=1)), node_class=None)

    assert not book.note(seen(launched))
    assert not book.note(seen(leaving))
    assert not book.note(seen(wanting("a")))  # nobody has written it yet
    assert not book.note(no_pool)
    assert not book.note(no_class)
    assert book.adopt(START) == ()


def test_what_changes_before_it_is_adopted_is_not() -> None:
    book = LaunchBook()
    book.note(seen(wanting("a", version=1)))
    book.note(seen(wanting("b", version=1)))

    book.note(seen(replace(wanting("a", version=2), deleting_since=START)))
    book.note(gone("b"))

    assert book.adopt(START) == ()


def test_a_claim_of_a_pool_that_another_controller_wrote_is_left_to_it_for_a_minute() -> None:
    book = LaunchBook()
    ours = wanting("ours", version=1)
    ours = replace(ours, annotations={**ours.annotations, DECISION: "d1"})
    alone = replace(wanting("alone", version=1), pool="")
    for one in (wanting("theirs", version=1), ours, alone):
        assert book.note(seen(one))

    assert sorted(name for batch in book.adopt(at(59)) for name in batch.names) == ["alone", "ours"]
    assert book.next_adoption() == at(60)
    assert names(book.adopt(at(60))) == [("theirs",)]
    assert book.next_adoption() is None


def test_our_own_claims_are_not_adopted() -> None:
    book, _ = marking("a")

    assert not book.note(seen(wanting("a", version=1)))


def test_claims_handed_back_are_adopted_again_wherever_they_stood() -> None:
    unmarked, _ = marking("a")
    book, group = calling("b", "c")
    (batch,) = book.open(plan(wanting("d")), START)
    book.close(batch.id)

    unmarked.hand_back("a")
    for name in ("b", "c", "d", "stranger"):
        book.hand_back(name)

    assert names(unmarked.adopt(at(60))) == [("a",)]
    assert names(book.adopt(at(60))) == [("b", "c"), ("d",)]
    assert book.group(group.launch.request.token) is None


# --- giving up


def useless(name: str) -> ClaimGivenUp:
    return ClaimGivenUp.unbought(name, Cause.LAUNCH_FAILED, "FleetLauncher", "it was refused")


def test_a_claim_given_up_is_known_until_it_goes() -> None:
    book, _ = calling("a")

    book.give_up(useless("a"))
    book.give_up(useless("stranger"))

    assert book.since("a") is None
    assert not book.note(seen(wanting("a", version=2)))
    assert book.given_up("a") == GivenUp(says=useless("a"), written=True)
    assert book.given_up("stranger") is None
    assert not book.note(seen(replace(wanting("a", version=3), deleting_since=START)))
    assert book.given_up("a") is None


def test_a_claim_given_up_that_is_gone_is_forgotten() -> None:
    book, _ = calling("a")
    book.give_up(useless("a"))

    book.note(gone("a"))

    assert book.given_up("a") is None


def test_a_claim_given_up_unwritten_is_unwanted_when_it_shows_up_after_all() -> None:
    book = LaunchBook()
    book.open(plan(wanting("a")), START)
    book.give_up(useless("a"))

    book.note(gone("a"))
    late = seen(wanting("a", version=1))

    assert not book.note(late)
    assert book.unwanted(late)
    assert not book.unwanted(seen(replace(wanting("a", version=2), deleting_since=START)))
    assert not book.unwanted(gone("a"))
    assert not book.unwanted(seen(wanting("b", version=1)))


# --- spans


def span(name: str) -> Span:
    return Span(context=SpanContext.root(name), name=name, start=START, end=START)


def test_the_spans_of_a_call_are_its_first_claims_and_taken_once() -> None:
    book, group = calling("a", "b")
    group.spans.append(span("EC2/CreateFleet"))

    assert book.take_spans("b") == ()
    assert book.take_spans("a") == (span("EC2/CreateFleet"),)
    assert book.take_spans("a") == ()
