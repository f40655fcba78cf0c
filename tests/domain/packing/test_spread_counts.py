"""Which nodes a spread looks at, and which pods it counts."""

from __future__ import annotations

from dataclasses import replace

from tests.domain.packing.colocated import (
    ANYBODY,
    DB,
    WEB,
    A,
    B,
    C,
    app,
    domains,
    node,
    refused,
    sold,
    spread,
    there,
    types,
    with_terms,
)
from tests.domain.packing.problems import asking, is_in, pool, problem
from treenail.domain.model import labels
from treenail.domain.model.taints import Effect, Taint, Toleration

OVER_ZONES = with_terms(spread())
OURS = Taint("ours", Effect.NO_SCHEDULE)
SOFT = Taint("soft", Effect.PREFER_NO_SCHEDULE)


# --- which nodes are looked at

AMD = asking(selector={labels.ARCH: "amd64"})


def test_nodes_the_pod_does_not_ask_for_are_not_looked_at() -> None:
    arm = node("n1", A, (there("web"), 3), cpu=0, more={labels.ARCH: "arm64"})

    of = problem(app("web", 2, with_terms(spread(), of=AMD)), existing_nodes=(arm,))

    assert domains(of) == {A: 1, B: 1}


def test_nodes_the_pod_does_not_ask_for_are_looked_at_where_it_says_so() -> None:
    arm = node("n1", A, (there("web"), 3), cpu=0, more={labels.ARCH: "arm64"})

    of = problem(app("web", 2, with_terms(spread(honor_affinity=False), of=AMD)), existing_nodes=(arm,))

    assert domains(of) == {B: 2}


def test_new_nodes_the_pod_does_not_ask_for_are_not_looked_at_either() -> None:
    on_arm = app("web", 3, asking(3, selector={labels.ARCH: "arm64", labels.ZONE: A}), pod_group="arm")

    of = problem(on_arm, app("web", 2, with_terms(spread(), of=AMD), pod_group="amd"))

    assert domains(of) == {A: 4, B: 1}


def test_new_nodes_of_a_pool_the_pod_does_not_ask_for_are_not_looked_at_either() -> None:
    arm = sold(is_in(labels.ARCH, "arm64"), name="arm", weight=9)
    in_c = app("web", 3, asking(3, selector={labels.ZONE: C}), pod_group="any")

    of = problem(in_c, app("web", 5, with_terms(spread(), of=AMD), pod_group="amd"), offers=(arm, sold()))

    assert domains(of) == {A: 2, B: 2, C: 4}


# One make is sold in two of the three zones alone.
IN_TWO = replace(sold(), instance_types=(*types((A, B))[:3], types((A, B, C))[3]))
ON_ARM = asking(selector={labels.ARCH: "arm64"})


def test_a_zone_where_nothing_is_sold_that_the_pod_asks_for_is_not_looked_at() -> None:
    assert domains(problem(app("web", 6, with_terms(spread(), of=AMD)), offers=(IN_TWO,))) == {A: 3, B: 3}
    assert domains(problem(app("web", 6, with_terms(spread(), of=ON_ARM)), offers=(IN_TWO,))) == {
        A: 2,
        B: 2,
        C: 2,
    }


def test_such_a_zone_is_looked_at_where_the_pod_says_so() -> None:
    everywhere = with_terms(spread(honor_affinity=False), of=AMD)

    assert len(refused(problem(app("web", 6, everywhere), offers=(IN_TWO,)))) == 4


def test_a_zone_where_nothing_is_sold_that_a_pool_allows_is_not_looked_at() -> None:
    amd_alone = replace(IN_TWO, pool=pool("default", is_in(labels.ARCH, "amd64")))

    assert domains(problem(app("web", 6, OVER_ZONES), offers=(amd_alone,))) == {A: 3, B: 3}


def test_such_a_zone_is_looked_at_while_there_is_a_node_that_the_pod_may_be_on() -> None:
    full = node("n1", C, cpu=0, more={labels.ARCH: "amd64"})

    of = problem(app("web", 6, with_terms(spread(), of=AMD)), offers=(IN_TWO,), existing_nodes=(full,))

    assert domains(of) == {A: 1, B: 1}


def test_nodes_with_taints_are_looked_at() -> None:
    tainted = node("n1", A, (there("web"), 3), cpu=0, taints=(OURS,))

    assert domains(problem(app("web", 2, OVER_ZONES), existing_nodes=(tainted,))) == {B: 2}


def test_nodes_with_taints_are_not_looked_at_where_the_pod_says_so() -> None:
    tainted = node("n1", A, (there("web"), 3), cpu=0, taints=(OURS,))
    spec = with_terms(spread(honor_taints=True))
    tolerant = replace(spec, tolerations=(Toleration("ours"),))

    assert domains(problem(app("web", 2, spec), existing_nodes=(tainted,))) == {A: 1, B: 1}
    assert domains(problem(app("web", 2, tolerant), existing_nodes=(tainted,))) == {B: 2}


def test_taints_that_only_say_prefer_hide_no_node() -> None:
    disliked = node("n1", A, (there("web"), 3), cpu=0, taints=(SOFT,))

    assert domains(
        problem(app("web", 2, with_terms(spread(honor_taints=True))), existing_nodes=(disliked,))
    ) == {B: 2}


def test_new_nodes_with_taints_are_not_looked_at_where_the_pod_says_so() -> None:
    offers = (sold(), sold(name="ours", taints=(OURS,)))
    tolerant = asking(3, selector={labels.ZONE: A, labels.NODEPOOL: "ours"}, tolerations=[Toleration("ours")])

    of = problem(
        app("web", 3, tolerant, pod_group="ours"),
        app("web", 3, with_terms(spread(honor_taints=True))),
        offers=offers,
    )

    assert domains(of) == {A: 4, B: 1, C: 1}


def test_zones_that_only_a_tainted_pool_is_in() -> None:
    offers = (sold(zones=(A, B)), sold(name="ours", zones=(C,), taints=(OURS,)))

    assert domains(problem(app("web", 4, OVER_ZONES), offers=offers)) == {A: 1, B: 1}
    honest = with_terms(spread(honor_taints=True))
    assert domains(problem(app("web", 4, honest), offers=offers)) == {A: 2, B: 2}


# --- who is counted


def test_every_revision_is_spread_by_itself() -> None:
    spec = with_terms(spread(keys=("revision",)))
    existing_nodes = (node("n1", A, (there("web", revision="1"), 3), cpu=0),)

    of = problem(app("web", 3, spec, revision="2"), existing_nodes=existing_nodes, offers=(sold(),))
    both = problem(
        app("web", 3, spec, pod_group="one", revision="1"),
        app("web", 3, spec, pod_group="two", revision="2"),
        existing_nodes=existing_nodes,
        offers=(sold(),),
    )

    assert domains(of) == {A: 1, B: 1, C: 1}
    assert domains(both) == {A: 1, B: 3, C: 2} or domains(both) == {A: 1, B: 2, C: 3}


def test_keys_that_a_pod_does_not_have_say_nothing() -> None:
    spec = with_terms(spread(keys=("revision",)))
    existing_nodes = (node("n1", A, (there("web", revision="1"), 2), cpu=0),)

    assert domains(problem(app("web", 4, spec), existing_nodes=existing_nodes, offers=(sold(),))) == {
        B: 2,
        C: 2,
    }


def test_a_pod_that_its_own_constraint_does_not_count_goes_where_the_others_are_few() -> None:
    existing_nodes = (node("n1", A, (there("db"), 2), cpu=0), node("n2", B, there("db"), cpu=0))
    spec = with_terms(spread(selector=DB))

    of = problem(app("web", 5, spec), existing_nodes=existing_nodes, offers=(sold(),))

    assert refused(of) == []
    assert A not in domains(of)


def test_without_a_selector_nobody_counts() -> None:
    existing_nodes = (node("n1", A, (there("web"), 5), cpu=0),)

    assert (
        refused(problem(app("web", 5, with_terms(spread(selector=None))), existing_nodes=existing_nodes))
        == []
    )


def test_an_empty_selector_counts_everybody() -> None:
    existing_nodes = (node("n1", A, (there("web"), 1), there("db"), cpu=0),)

    of = problem(
        app("web", 4, with_terms(spread(selector=ANYBODY))), existing_nodes=existing_nodes, offers=(sold(),)
    )

    assert domains(of) == {B: 2, C: 2}


def test_an_empty_selector_counts_pods_that_have_no_constraint() -> None:
    fixed = app("db", 2, asking(3, selector={labels.ZONE: A}))

    of = problem(fixed, app("web", 4, with_terms(spread(selector=ANYBODY))), offers=(sold(),))

    assert domains(of, of="web") == {B: 2, C: 2}


def test_pods_without_the_constraint_count_all_the_same() -> None:
    fixed = app("web", 2, asking(3, selector={labels.ZONE: A}), pod_group="fixed")

    of = problem(fixed, app("web", 4, with_terms(spread(selector=WEB)), pod_group="spread"), offers=(sold(),))

    assert domains(of) == {A: 2, B: 2, C: 2}
