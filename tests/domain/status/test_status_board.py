from __future__ import annotations

from dataclasses import replace

from tests.builders import DEFAULT_CLASS, node_class, node_pool
from treenail.domain.cluster.cluster_facts import Kind, ObjectSetAside, PoolsSeen
from treenail.domain.cluster.set_aside import ObjectUnderstood
from treenail.domain.model.catalogue_keys import CatalogueKey
from treenail.domain.model.events import ObjectRef
from treenail.domain.model.node_class_status import (
    IMAGES_READY,
    SUBNETS_READY,
    NodeClassMeaning,
    NodeClassStatus,
    NodeClassStatusSeen,
    SubnetMeant,
)
from treenail.domain.model.node_classes import DEFAULT_KUBELET, Kubelet, NodeClass, NodeClassRef
from treenail.domain.model.node_pools import Generation, NodePool
from treenail.domain.model.nodes import Condition, Status
from treenail.domain.status.readiness import NodeClassChecked
from treenail.domain.status.status_board import Showing, StatusBoard

POOL = ObjectRef(kind="NodePool", name="default")
CLASS = ObjectRef(kind="EC2NodeClass", name="default")
NOTHING = NodeClassMeaning()
BROKEN = ObjectSetAside(
    kind=Kind.NODE_POOL, key="default", resource_version=3, about=POOL, problem="spec.weight: 101 is too much"
)


def seen(*pools: NodePool, classes: tuple[NodeClass, ...] = (node_class(),)) -> PoolsSeen:
    return PoolsSeen(pools=pools or (node_pool(),), node_classes=classes)


def checked(problem: str = "", *, version: int = 1, certain: bool = True) -> NodeClassChecked:
    key = CatalogueKey(DEFAULT_CLASS, version, DEFAULT_KUBELET)
    return NodeClassChecked(key=key, problem=problem, certain=certain)


def stood(
    *lacking: str, of: NodeClass | None = None, meaning: NodeClassMeaning = NOTHING
) -> NodeClassStatusSeen:
    """Tell that these parts of a node class are not there, and that its subnets and images otherwise are."""
    conditions = tuple(
        Condition(part, Status.FALSE, "NotFound", f"no {part}")
        if part in lacking
        else Condition(part, Status.TRUE)
        for part in (IMAGES_READY, SUBNETS_READY)
    )
    return NodeClassStatusSeen(
        node_class=of or node_class(), status=NodeClassStatus(meaning=meaning, conditions=conditions)
    )


def a_board(problem: str = "") -> StatusBoard:
    """One that shows a pool and its class, both as the cloud says."""
    board = a_fresh_board(problem)
    board.due()
    return board


def a_fresh_board(problem: str = "") -> StatusBoard:
    """One that knows a pool and its class, and shows nothing yet."""
    board = StatusBoard()
    board.see(seen())
    board.wanted(anew=False)
    board.node_class_seen(stood())
    board.check(checked(problem))
    return board


def ready(due: tuple[Showing, ...]) -> dict[str, str]:
    return {f"{showing.about.kind}/{showing.about.name}": showing.ready.status.value for showing in due}


def test_nothing_is_due_before_the_cloud_has_answered() -> None:
    board = StatusBoard()
    board.see(seen())

    assert board.due() == ()
    assert board.wanted(anew=False) == ((node_class(), DEFAULT_KUBELET),)
    assert board.check(checked())
    assert ready(board.due()) == {"NodePool/default": "True"}
    assert board.node_class_seen(stood())
    assert ready(board.due()) == {"EC2NodeClass/default": "True"}


def test_what_is_shown_is_not_due_again_however_often_it_is_seen() -> None:
    board = a_board()

    board.see(seen(node_pool(version=7), classes=(node_class(version=8),)))
    assert not board.check(checked())

    assert board.due() == ()
    assert board.wanted(anew=False) == ()
    assert board.settled


def test_a_pool_that_says_something_new_is_written_again_for_its_generation() -> None:
    board = a_board()

    board.see(seen(replace(node_pool(version=7), weight=5)))

    assert ready(board.due()) == {"NodePool/default": "True"}


def test_what_could_not_be_written_is_due_again() -> None:
    board = a_board()

    board.unwritten(POOL)

    assert not board.settled
    assert ready(board.due()) == {"NodePool/default": "True"}


def test_what_could_not_be_written_is_written_whole_and_is_no_news_a_second_time() -> None:
    board = a_board()
    board.check(checked("no subnets"))
    first = board.due()

    for showing in first:
        board.unwritten(showing.about)
    again = board.due()

    assert [s.conditions for s in again] == [s.conditions for s in first]
    assert [s.annotations for s in again] == [s.annotations for s in a_fresh_board().due()]
    assert all(s.news for s in first)
    assert all(s.moved for s in first)
    assert not any(s.news or s.moved or s.recovered for s in again)
    assert board.due() == ()


def test_why_an_object_is_not_ready_is_news_once() -> None:
    board = a_board()

    board.check(checked("no subnets"))
    first = board.due()
    board.see(seen(replace(node_pool(), weight=5)))
    again = board.due()

    assert [news.message for showing in first for news in showing.news] == [
        "no subnets",
        "EC2NodeClass/default: no subnets",
    ]
    assert [showing.news for showing in again] == [()]
    assert not board.settled


def test_what_is_ready_again_says_so() -> None:
    board = a_board("no subnets")

    board.check(checked())
    due = board.due()

    assert [(showing.recovered, showing.news) for showing in due] == [(True, ())] * 2
    assert board.settled


def test_what_is_ready_from_the_first_has_not_recovered() -> None:
    board = StatusBoard()
    board.see(seen())
    board.wanted(anew=False)
    board.node_class_seen(stood())
    board.check(checked())

    assert not any(showing.recovered for showing in board.due())


def test_a_node_class_that_says_something_new_is_asked_about_and_an_old_answer_counts_for_nothing() -> None:
    board = a_board()
    new = replace(node_class(version=9), role="other")

    board.see(seen(classes=(new,)))

    assert board.wanted(anew=False) == ((new, DEFAULT_KUBELET),)
    assert not board.check(checked("no subnets", version=1))
    assert board.due() == ()
    assert board.check(checked(version=9))
    assert not board.node_class_seen(stood(SUBNETS_READY))
    assert board.node_class_seen(stood(of=new))
    assert ready(board.due()) == {"EC2NodeClass/default": "True"}


def test_no_answer_changes_nothing_of_what_is_known() -> None:
    board = a_board()

    assert not board.check(checked("no answer", certain=False))
    assert board.due() == ()


def test_before_anything_is_known_no_answer_is_shown_as_such() -> None:
    board = a_board("")
    fresh = StatusBoard()
    fresh.see(seen())
    fresh.wanted(anew=False)
    fresh.node_class_seen(stood())

    assert fresh.check(checked("no answer", certain=False))

    due = fresh.due()
    assert set(ready(due).values()) == {"Unknown"}
    assert [showing.news for showing in due] == [(), ()]
    assert not fresh.settled
    assert board.settled


def test_a_part_that_cannot_be_looked_up_changes_nothing_of_what_is_known() -> None:
    board = a_board()
    unanswered = NodeClassStatus(conditions=(Condition(SUBNETS_READY, Status.UNKNOWN, "LookupFailed"),))

    assert not board.node_class_seen(NodeClassStatusSeen(node_class=node_class(), status=unanswered))
    assert board.due() == ()


def test_each_part_that_is_not_there_is_news_and_ready_gives_the_first() -> None:
    board = a_board()

    board.node_class_seen(stood(IMAGES_READY))
    (first,) = board.due()
    board.node_class_seen(stood(IMAGES_READY, SUBNETS_READY))
    (second,) = board.due()

    assert [news.message for news in first.news] == ["spec.amiSelectorTerms: no AMIsReady"]
    assert [news.message for news in second.news] == ["spec.subnetSelectorTerms: no SubnetsReady"]
    assert first.ready.message == second.ready.message == "spec.amiSelectorTerms: no AMIsReady"


def test_what_a_node_class_means_is_written_with_its_conditions_and_where_it_changes() -> None:
    board = a_board()
    of = replace(node_class(), generation=3)
    board.see(seen(classes=(of,)))
    board.wanted(anew=False)
    board.check(checked())
    meaning = NodeClassMeaning(subnets=(SubnetMeant(id="subnet-1", zone="a"),))

    board.node_class_seen(stood(of=of, meaning=meaning))
    (due,) = (one for one in board.due() if one.kind is Kind.NODE_CLASS)
    board.node_class_seen(stood(of=of))
    (again,) = board.due()

    assert due.meaning == replace(meaning, generation=3)
    assert again.meaning == NodeClassMeaning(generation=3)
    assert again.conditions == due.conditions


def test_everything_is_asked_anew_now_and_then() -> None:
    board = a_board()

    assert board.wanted(anew=True) == ((node_class(), DEFAULT_KUBELET),)


def test_a_pool_with_kubelet_settings_of_its_own_is_asked_about_apart() -> None:
    board, own = StatusBoard(), Kubelet(max_pods=9)
    board.see(seen(replace(node_pool(), kubelet=own)))

    assert {kubelet for _, kubelet in board.wanted(anew=False)} == {DEFAULT_KUBELET, own}
    board.check(checked("no subnets"))
    board.node_class_seen(stood())
    assert ready(board.due()) == {"EC2NodeClass/default": "False"}


def test_what_is_being_deleted_is_left_alone() -> None:
    board = StatusBoard()

    board.see(
        seen(
            replace(node_pool("going"), deleting=True),
            node_pool(),
            classes=(replace(node_class(), deleting=True),),
        )
    )

    assert board.wanted(anew=False) == ()
    assert ready(board.due()) == {"NodePool/default": "False"}


def test_a_node_class_within_a_provisioner_is_shown_on_that() -> None:
    ref = NodeClassRef("karpenter.sh", "Provisioner", "old")
    pool = replace(node_pool("old"), generation=Generation.V1ALPHA5, node_class=ref)
    board = StatusBoard()
    board.see(seen(pool, classes=(NodeClass(ref=ref),)))

    assert board.wanted(anew=False) == ((NodeClass(ref=ref), DEFAULT_KUBELET),)
    board.check(NodeClassChecked(key=CatalogueKey(ref, 0, DEFAULT_KUBELET)))

    assert ready(board.due()) == {"Provisioner/old": "True"}


def test_a_pool_nobody_understands_is_shown_so_in_place_of_what_was_last_understood() -> None:
    board = a_board()

    assert board.set_aside(BROKEN)
    (bad,) = board.due()
    assert board.understand(ObjectUnderstood(kind=Kind.NODE_POOL, about=POOL))
    (good,) = board.due()

    assert [(c.type, c.status) for c in bad.conditions] == [
        ("ValidationSucceeded", Status.FALSE),
        ("Ready", Status.FALSE),
    ]
    # That it is not valid was told when it was set aside.
    assert bad.news == ()
    assert good.recovered


def test_a_pod_nobody_understands_shows_no_condition() -> None:
    board = a_board()
    about = ObjectRef("Pod", "web", "default")

    assert not board.set_aside(replace(BROKEN, kind=Kind.POD, about=about))
    assert not board.understand(ObjectUnderstood(kind=Kind.POD, about=about))
    assert board.due() == ()


def test_an_object_that_comes_back_is_shown_anew() -> None:
    board = a_board()

    board.see(PoolsSeen(pools=(), node_classes=(node_class(),)))
    assert board.due() == ()
    board.see(seen())

    assert ready(board.due()) == {"NodePool/default": "True"}


def test_another_object_of_the_same_name_is_shown_anew() -> None:
    board = a_board()

    board.see(seen(replace(node_pool(), uid="another")))

    assert ready(board.due()) == {"NodePool/default": "True"}
