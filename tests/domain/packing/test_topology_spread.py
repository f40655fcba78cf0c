"""Pods spread over zones, nodes, capacity types and labels of one's own."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.domain.packing.colocated import (
    DB,
    A,
    B,
    C,
    apart,
    app,
    closed,
    domains,
    node,
    refused,
    sold,
    solved,
    spread,
    there,
    together,
    with_terms,
)
from tests.domain.packing.problems import asking, expression, instance_type, is_in, offer, pool, problem
from treenail.domain.model import labels
from treenail.domain.model.pods import PodVolume
from treenail.domain.model.requirements import Operator, Requirements
from treenail.domain.packing.problem import VolumeNeeds

OVER_ZONES = with_terms(spread())
TEAM = "team"


# --- over zones


def test_pods_are_spread_evenly() -> None:
    assert sorted(domains(problem(app("web", 5, OVER_ZONES), offers=(sold(),))).values()) == [1, 2, 2]
    assert sorted(domains(problem(app("web", 9, OVER_ZONES), offers=(sold(),))).values()) == [3, 3, 3]


def test_pods_that_are_there_count() -> None:
    existing_nodes = (node("n1", A, (there("web"), 3), cpu=0), node("n2", B, there("web"), cpu=0))

    assert domains(problem(app("web", 5, OVER_ZONES), existing_nodes=existing_nodes, offers=(sold(),))) == {
        B: 2,
        C: 3,
    }


def test_pods_on_nodes_that_take_no_more_count() -> None:
    existing_nodes = (closed(node("n1", A, (there("web"), 2))),)

    assert domains(problem(app("web", 4, OVER_ZONES), existing_nodes=existing_nodes, offers=(sold(),))) == {
        B: 2,
        C: 2,
    }


def test_pods_that_are_leaving_do_not_count() -> None:
    existing_nodes = (node("n1", A, (there("web", leaving=True), 2), cpu=0),)

    assert domains(problem(app("web", 3, OVER_ZONES), existing_nodes=existing_nodes, offers=(sold(),))) == {
        A: 1,
        B: 1,
        C: 1,
    }


def test_pods_of_other_apps_and_of_other_namespaces_do_not_count() -> None:
    existing_nodes = (node("n1", A, (there("db"), 2), (there("web", namespace="data"), 2), cpu=0),)

    assert domains(problem(app("web", 3, OVER_ZONES), existing_nodes=existing_nodes, offers=(sold(),))) == {
        A: 1,
        B: 1,
        C: 1,
    }


def test_pods_on_nodes_without_the_label_do_not_count() -> None:
    bare = node("n1", A, (there("web"), 2), cpu=0)
    bare = replace(bare, labels={labels.HOSTNAME: "n1"})

    assert domains(problem(app("web", 3, OVER_ZONES), existing_nodes=(bare,), offers=(sold(),))) == {
        A: 1,
        B: 1,
        C: 1,
    }


def test_a_node_without_the_label_takes_no_pod() -> None:
    bare = replace(node("n1", A), labels={labels.HOSTNAME: "n1"})

    assert (
        solved(problem(app("web", 1, OVER_ZONES), existing_nodes=(bare,), offers=(sold(),))).nominations == {}
    )


def test_a_greater_skew_leaves_the_first_rooms_more() -> None:
    existing_nodes = (node("n1", A, cpu=9),)

    for skew, inside in ((1, 1), (2, 2), (5, 5)):
        of = problem(
            app("web", inside, with_terms(spread(skew=skew))), existing_nodes=existing_nodes, offers=(sold(),)
        )
        assert set(solved(of).nominations.values()) == {"n1"}
        assert len(solved(of).nominations) == inside


def test_rooms_and_new_nodes_make_way_for_each_other() -> None:
    of = problem(app("web", 6, OVER_ZONES), existing_nodes=(node("n1", A, cpu=9),), offers=(sold(),))

    assert domains(of) == {A: 2, B: 2, C: 2}
    assert len(solved(of).nominations) == 2


def test_a_zone_where_nothing_more_fits_keeps_the_others_down() -> None:
    existing_nodes = (node("n1", A, cpu=0), node("n2", B, cpu=9))

    of = problem(app("web", 3, OVER_ZONES), existing_nodes=existing_nodes, offers=())

    assert domains(of) == {B: 1}
    assert len(refused(of)) == 2


def test_a_zone_of_a_node_that_takes_no_more_is_a_zone_all_the_same() -> None:
    existing_nodes = (closed(node("n1", A)), node("n2", B, cpu=9))

    assert domains(problem(app("web", 3, OVER_ZONES), existing_nodes=existing_nodes, offers=())) == {B: 1}


def test_pods_of_several_sizes_are_counted_together() -> None:
    small, large = with_terms(spread(), of=asking("100m")), with_terms(spread(), of=asking(3))

    of = problem(app("web", 3, small, pod_group="s"), app("web", 3, large, pod_group="l"), offers=(sold(),))

    assert domains(of) == {A: 2, B: 2, C: 2}


def test_who_may_be_in_some_zones_alone_is_measured_by_these() -> None:
    two = with_terms(spread(), of=asking(required=[(expression(labels.ZONE, Operator.IN, A, B),)]))
    one = with_terms(spread(), of=asking(selector={labels.ZONE: A}))

    assert domains(problem(app("web", 4, two), offers=(sold(),))) == {A: 2, B: 2}
    assert domains(problem(app("web", 4, one), offers=(sold(),))) == {A: 4}


def test_a_preferred_zone_leaves_no_zone_out_of_the_measure() -> None:
    wish = with_terms(spread(), of=asking(preferred=[(9, (expression(labels.ZONE, Operator.IN, A),))]))

    assert domains(problem(app("web", 3, wish), offers=(sold(),))) == {A: 1, B: 1, C: 1}


def test_the_zone_of_a_volume_leaves_no_zone_out_of_the_measure() -> None:
    spec = replace(OVER_ZONES, volumes=(PodVolume("data", claim_name="data"),))
    needs = VolumeNeeds(alternatives=(Requirements((is_in(labels.ZONE, A),)),))
    some = app("web", 3, spec)

    of = problem(some, volumes={pod.uid: needs for pod in some}, offers=(sold(),))

    assert domains(of) == {A: 1}
    assert len(refused(of)) == 2


# --- minDomains


def test_where_there_are_fewer_zones_than_wanted_the_emptiest_counts_as_empty() -> None:
    spec = with_terms(spread(min_domains=4))

    of = problem(app("web", 5, spec), offers=(sold(),))

    assert domains(of) == {A: 1, B: 1, C: 1}
    assert len(refused(of)) == 2


def test_beside_another_constraint_too_the_emptiest_counts_as_empty() -> None:
    spec = with_terms(spread(min_domains=4), spread(labels.CAPACITY_TYPE, 5))

    of = problem(app("web", 5, spec), offers=(sold(),))

    assert domains(of) == {A: 1, B: 1, C: 1}


def test_where_there_are_as_many_zones_as_wanted_nothing_changes() -> None:
    of = problem(app("web", 6, with_terms(spread(min_domains=3))), offers=(sold(),))

    assert domains(of) == {A: 2, B: 2, C: 2}


def test_only_zones_that_the_pod_may_be_in_are_among_those_wanted() -> None:
    spec = with_terms(
        spread(min_domains=3), of=asking(required=[(expression(labels.ZONE, Operator.IN, A, B),)])
    )

    assert domains(problem(app("web", 4, spec), offers=(sold(),))) == {A: 1, B: 1}


# --- over nodes, capacity types and labels of one's own


def test_over_nodes_no_node_has_more_than_the_skew() -> None:
    for skew, nodes in ((1, 4), (2, 2), (4, 1)):
        of = problem(app("web", 4, with_terms(spread(labels.HOSTNAME, skew))))
        assert [len(members) for members in together(of)] == [skew] * nodes


def test_over_nodes_those_that_are_there_count() -> None:
    existing_nodes = (node("n1", A, there("web")), node("n2", A), node("n3", A, there("db")))

    of = problem(app("web", 3, with_terms(spread(labels.HOSTNAME))), existing_nodes=existing_nodes, offers=())

    assert sorted(solved(of).nominations.values()) == ["n2", "n3"]
    assert len(refused(of)) == 1


def test_over_nodes_an_empty_one_does_not_keep_the_others_down() -> None:
    # What is counted is from zero: a new node could always be had.
    existing_nodes = (node("n1", A, (there("web"), 1)), node("n2", A, cpu=0))

    assert (
        refused(
            problem(
                app("web", 1, with_terms(spread(labels.HOSTNAME, 2))),
                existing_nodes=existing_nodes,
                offers=(),
            )
        )
        == []
    )


def test_over_capacity_types() -> None:
    of = problem(app("web", 4, with_terms(spread(labels.CAPACITY_TYPE))))

    assert domains(of, labels.CAPACITY_TYPE) == {labels.ON_DEMAND: 2, labels.SPOT: 2}


def test_over_a_label_that_pools_have() -> None:
    spec = with_terms(spread(TEAM))
    pools = (sold(is_in(TEAM, "a", "b")), sold(name="other", node_labels={TEAM: "c"}))

    assert domains(problem(app("web", 6, spec), offers=pools), TEAM) == {"a": 2, "b": 2, "c": 2}


def test_over_architectures() -> None:
    assert domains(problem(app("web", 4, with_terms(spread(labels.ARCH)))), labels.ARCH) == {
        "amd64": 2,
        "arm64": 2,
    }


def test_over_a_label_that_only_nodes_there_have() -> None:
    existing_nodes = tuple(node(f"n{rack}", A, more={"rack": rack}) for rack in ("1", "2"))

    assert domains(
        problem(app("web", 4, with_terms(spread("rack"))), existing_nodes=existing_nodes), "rack"
    ) == {
        "1": 2,
        "2": 2,
    }


def test_over_zones_and_nodes() -> None:
    of = problem(app("web", 6, with_terms(spread(), spread(labels.HOSTNAME))), offers=(sold(),))

    assert domains(of) == {A: 2, B: 2, C: 2}
    assert [len(members) for members in together(of)] == [1] * 6


def test_over_zones_and_capacity_types() -> None:
    of = problem(app("web", 6, with_terms(spread(), spread(labels.CAPACITY_TYPE))), offers=(sold(),))

    assert domains(of) == {A: 2, B: 2, C: 2}
    assert domains(of, labels.CAPACITY_TYPE) == {labels.ON_DEMAND: 3, labels.SPOT: 3}


def test_the_odd_ones_go_where_nodes_cost_least() -> None:
    dear = instance_type("m5.large", cpu=2, memory=8, price=0.2, zones=(A,))
    cheap = instance_type("m6i.large", cpu=2, memory=8, price=0.1, zones=(C,))
    offers = (offer(pool(), (dear, cheap)),)

    assert domains(problem(app("web", 1, with_terms(spread())), offers=offers)) == {C: 1}
    assert domains(problem(app("web", 3, with_terms(spread())), offers=offers)) == {A: 1, C: 2}


# --- ScheduleAnyway


def test_a_wish_to_be_spread_is_kept_while_it_can_be() -> None:
    soft = with_terms(spread(hard=False))

    assert domains(problem(app("web", 6, soft), offers=(sold(),))) == {A: 2, B: 2, C: 2}


def test_a_wish_to_be_spread_holds_nobody_up() -> None:
    soft = with_terms(spread(hard=False))
    existing_nodes = (closed(node("n1", B)),)

    of = problem(app("web", 4, soft), existing_nodes=existing_nodes, offers=(sold(zones=(A,)),))

    assert domains(of) == {A: 4}


# --- domains that turn out to have no node


@pytest.mark.parametrize("wished", [False, True])
def test_a_zone_for_which_no_limit_is_left_keeps_the_others_down(*, wished: bool) -> None:
    large = instance_type("m5.8xlarge", cpu=32, memory=128, price=1.6)
    offers = (offer(pool(), (large,), limits={"cpu": 32}),)
    wishes = [apart(key=labels.HOSTNAME, weight=1)] if wished else []

    of = problem(app("web", 3, with_terms(spread(), *wishes)), offers=offers)

    assert list(domains(of).values()) == [1]
    assert len(refused(of)) == 2


def test_rooms_take_no_more_than_goes_with_zones_for_which_no_limit_is_left() -> None:
    one_size = instance_type("t3.2xlarge", cpu=8, memory=32, price=0.4)
    offers = (offer(pool(), (one_size,), limits={"cpu": 32}),)
    alone = with_terms(apart(DB, labels.HOSTNAME), of=asking(2, selector={labels.ZONE: A}))
    wide = with_terms(spread(skew=2), of=asking("500m"))

    of = problem(
        app("db", 5, alone), app("web", 4, wide), existing_nodes=(node("n1", A, cpu=6),), offers=offers
    )

    assert domains(of, of="web") in ({A: 2}, {A: 3, B: 1}, {A: 2, B: 2})
