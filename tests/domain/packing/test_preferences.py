from __future__ import annotations

from tests.domain.packing.problems import asking, existing_node, expression, is_in, offer, pods, pool, problem
from treenail.domain.model import labels
from treenail.domain.model.pods import PodSpec
from treenail.domain.model.requirements import Operator
from treenail.domain.model.taints import Effect, Taint, Toleration
from treenail.domain.packing.pack import pack
from treenail.domain.packing.pods.demands import Demands
from treenail.domain.packing.pods.relaxation import Wants, relaxation_of

A = (expression(labels.ZONE, Operator.IN, "zone-a"),)
B = (expression(labels.ZONE, Operator.IN, "zone-b"),)
NOWHERE = (expression(labels.ZONE, Operator.IN, "nowhere"),)
SOFT = Taint("soft", Effect.PREFER_NO_SCHEDULE)


def zones_of(spec: PodSpec) -> list[list[str]]:
    return [sorted(c.requirements[labels.ZONE].values) for c in pack(problem(pods("web", 2, spec))).claims]


def test_a_preference_is_kept_while_it_can_be() -> None:
    assert zones_of(asking(preferred=[(1, A)])) == [["zone-a"]]


def test_the_heaviest_preference_alone_is_in_force() -> None:
    assert zones_of(asking(preferred=[(1, A), (9, B)])) == [["zone-b"]]


def test_the_heaviest_preference_falls_first() -> None:
    assert zones_of(asking(preferred=[(1, A), (9, NOWHERE)])) == [["zone-a"]]
    assert zones_of(asking(preferred=[(9, NOWHERE)])) == [["zone-a", "zone-b"]]


def test_a_wish_that_contradicts_what_is_required_falls() -> None:
    assert zones_of(asking(selector={labels.ZONE: "zone-b"}, preferred=[(1, A)])) == [["zone-b"]]


def test_required_terms_are_tried_in_their_order() -> None:
    assert zones_of(asking(required=[NOWHERE, B, A])) == [["zone-b"]]


def test_every_term_is_tried_with_a_preference_before_the_preference_falls() -> None:
    spot = (expression(labels.CAPACITY_TYPE, Operator.IN, "spot"),)
    spec = asking(required=[A, B], preferred=[(5, spot)])
    of = offer(pool("default", is_in(labels.CAPACITY_TYPE, "on-demand")))

    (claim,) = pack(problem(pods("web", 1, spec), offers=(of,))).claims

    # The first term without the preference: no step of relaxation may skip it.
    assert claim.requirements[labels.ZONE].single == "zone-a"


def test_a_preference_is_worth_a_new_node_where_a_room_does_not_fulfil_it() -> None:
    there = existing_node("there", node_labels={labels.ZONE: "zone-b"})

    assert (
        pack(problem(pods("web", 1, asking(preferred=[(1, A)])), existing_nodes=(there,))).nominations == {}
    )
    assert pack(
        problem(pods("web", 1, asking(preferred=[(1, NOWHERE)])), existing_nodes=(there,))
    ).nominations


def test_a_pool_with_a_soft_taint_comes_last() -> None:
    disliked, other = offer(pool("disliked", taints=(SOFT,))), offer(pool("other"))

    assert pack(problem(pods("web", 1), offers=(disliked, other))).claims[0].pool == "other"
    assert pack(problem(pods("web", 1), offers=(disliked,))).claims[0].pool == "disliked"


def test_who_tolerates_a_soft_taint_takes_pools_in_their_order() -> None:
    disliked, other = offer(pool("disliked", taints=(SOFT,))), offer(pool("other"))
    spec = asking(tolerations=[Toleration("soft")])

    assert pack(problem(pods("web", 1, spec), offers=(disliked, other))).claims[0].pool == "disliked"


def test_preferences_fall_before_a_soft_taint_is_put_up_with() -> None:
    disliked, other = (
        offer(pool("disliked", taints=(SOFT,))),
        offer(pool("other", is_in(labels.ZONE, "zone-b"))),
    )
    spec = asking(preferred=[(1, A)])

    assert pack(problem(pods("web", 1, spec), offers=(disliked, other))).claims[0].pool == "other"


def test_the_ladder_ends_with_what_a_pod_must_have() -> None:
    relaxation = relaxation_of(
        asking(required=[A, B], preferred=[(1, A), (2, NOWHERE)]), Wants(soft_taints=True), Demands()
    )

    assert len(relaxation.levels) == 5 + 2 - 2
    assert [sorted(r.requirements[labels.ZONE].values) for r in relaxation.required] == [
        ["zone-a"],
        ["zone-b"],
    ]
    assert all(r.tolerations for r in relaxation.required)
