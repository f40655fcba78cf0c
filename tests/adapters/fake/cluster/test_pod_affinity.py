from __future__ import annotations

from typing import Any

import pytest

from tests.adapters.fake.cluster.builders import a_daemon_set, a_deployment, a_pod, a_spec
from tests.adapters.fake.cluster.rig import Rig
from tests.adapters.fake.cluster.test_spread import in_zone
from treenail.domain.model.labels import HOSTNAME, ZONE
from treenail.domain.model.namespaces import Namespace
from treenail.domain.model.patches import NodePatch
from treenail.domain.model.pods import LabelSelector, Pod, PodAffinityTerm

NOT_NEAR = "node(s) didn't match pod affinity rules"
NOT_APART = "node(s) didn't match pod anti-affinity rules"
OPPOSED = "node(s) didn't satisfy existing pods anti-affinity rules"


def app(name: str) -> LabelSelector:
    return LabelSelector(match_labels=(("app", name),))


def near(name: str, key: str = ZONE, **more: Any) -> PodAffinityTerm:
    return PodAffinityTerm(key, app(name), **more)


def apart(name: str, key: str = HOSTNAME, **more: Any) -> PodAffinityTerm:
    return PodAffinityTerm(key, app(name), anti=True, **more)


def pod(name: str, *terms: PodAffinityTerm, cpu: str = "1", grace: int = 30, **fields: Any) -> Pod:
    """A pod with the label app=NAME, less a number at the end."""
    spec = a_spec(cpu=cpu, pod_affinity=terms, grace_seconds=grace)
    return a_pod(name, spec=spec, **{"labels": {"app": name.rpartition("-")[0] or name}, **fields})


def where(rig: Rig, name: str) -> str:
    rig.run(5)
    return rig.pod(name).node_name


def why(rig: Rig, name: str) -> str:
    return rig.reasons(name)[-1][1]


def two_zones() -> Rig:
    rig = Rig()
    rig.cluster.apply(in_zone("a-0", "a"), in_zone("b-0", "b", cpu="1"), in_zone("b-1", "b", cpu="8"))
    return rig


# --- near


def test_a_pod_goes_to_the_zone_of_those_it_must_be_near() -> None:
    rig = two_zones()
    rig.cluster.apply(pod("db", cpu="8", node_name="b-1"), pod("web", near("db")))

    assert where(rig, "web") == "b-0"


def test_a_pod_waits_for_the_one_it_must_be_near() -> None:
    rig = two_zones()
    rig.cluster.apply(pod("web", near("db")))
    assert where(rig, "web") == ""
    assert why(rig, "web") == f"0/3 nodes are available: 3 {NOT_NEAR}."

    rig.cluster.apply(pod("db", cpu="8", node_name="b-1"))

    assert where(rig, "web") == "b-0"


def test_the_first_of_pods_that_must_be_near_each_other_goes_anywhere_and_the_rest_follow() -> None:
    rig = two_zones()
    rig.cluster.apply(a_deployment("web", 4, spec=a_spec(pod_affinity=(near("web", HOSTNAME),))))
    rig.run(5)

    assert len({one.node_name for one in rig.cluster.pods()}) == 1
    assert all(one.node_name for one in rig.cluster.pods())


def test_the_first_goes_to_no_node_without_the_label() -> None:
    rig = Rig()
    rig.cluster.apply(in_zone("a-0", "a"), pod("web", near("web", "rack")))
    assert where(rig, "web") == ""

    rig.cluster.patch_node("a-0", NodePatch(labels={"rack": "1"}))

    assert where(rig, "web") == "a-0"


def test_only_a_pod_that_all_terms_select_counts_for_any_of_them() -> None:
    rig = two_zones()
    both = LabelSelector(match_labels=(("app", "db"), ("tier", "hot")))
    rig.cluster.apply(pod("db", node_name="b-1"))
    rig.cluster.apply(pod("web", near("db"), PodAffinityTerm(ZONE, both)))
    assert where(rig, "web") == ""

    rig.cluster.apply(pod("db-hot", labels={"app": "db", "tier": "hot"}, node_name="a-0"))

    assert where(rig, "web") == "a-0"


def test_a_terminating_pod_is_still_one_to_be_near_to() -> None:
    rig = two_zones()
    rig.cluster.apply(pod("db", grace=1000, node_name="a-0"))
    rig.run(5)
    rig.cluster.delete("Pod", "db")
    rig.cluster.apply(pod("web", near("db")))
    rig.run(0.5)

    assert rig.pod("db").deleting_since is not None
    assert rig.pod("web").node_name == "a-0"


# --- apart


def test_pods_that_must_keep_apart_get_a_node_each_and_the_rest_wait() -> None:
    rig = two_zones()
    rig.cluster.apply(a_deployment("web", 4, spec=a_spec(cpu="100m", pod_affinity=(apart("web"),))))
    rig.run(5)

    assert sorted(one.node_name for one in rig.cluster.pods()) == ["", "a-0", "b-0", "b-1"]
    [left] = [one.name for one in rig.cluster.pods() if not one.node_name]
    assert why(rig, left) == f"0/3 nodes are available: 3 {NOT_APART}."

    rig.cluster.apply(in_zone("c-0", "c"))
    assert where(rig, left) == "c-0"


def test_a_pod_keeps_out_of_the_zone_of_those_it_must_be_apart_from() -> None:
    rig = two_zones()
    rig.cluster.apply(pod("db", node_name="b-1"), pod("web", apart("db", ZONE), cpu="100m"))

    assert where(rig, "web") == "a-0"


def test_a_pod_keeps_away_from_those_that_must_be_apart_from_it() -> None:
    rig = two_zones()
    rig.cluster.apply(pod("db", apart("web", ZONE), node_name="a-0"))
    rig.cluster.apply(pod("web-0", cpu="4"), pod("web-1", cpu="6"), pod("api", cpu="6"))

    assert [where(rig, name) for name in ("web-0", "web-1", "api")] == ["b-1", "", "a-0"]
    assert why(rig, "web-1") == f"0/3 nodes are available: 2 Insufficient cpu, 1 {OPPOSED}."


def test_a_pod_waits_until_the_one_apart_from_it_is_gone_for_good() -> None:
    rig = Rig()
    rig.cluster.apply(in_zone("a-0", "a"), pod("db", apart("web"), grace=20, node_name="a-0"))
    rig.run(5)
    rig.cluster.apply(pod("web"))
    rig.cluster.delete("Pod", "db")
    rig.run(0.4)
    assert rig.pod("db").deleting_since is not None
    assert rig.pod("web").node_name == ""

    rig.run(30)

    assert rig.pod("web").node_name == "a-0"


def test_those_that_wait_already_keep_away_from_who_comes_to_be_apart_from_them() -> None:
    rig = Rig()
    rig.cluster.apply(in_zone("a-0", "a", cpu="1"), pod("web", cpu="2"), pod("api", cpu="2"))
    rig.run(5)

    rig.cluster.apply(pod("db", apart("web", ZONE), cpu="1", node_name="a-0"))
    rig.run(5)
    rig.cluster.apply(in_zone("a-1", "a", cpu="4"))

    assert [where(rig, name) for name in ("web", "api")] == ["", "a-1"]


def test_a_node_without_the_label_is_apart_from_all() -> None:
    rig = two_zones()
    rig.cluster.apply(pod("db", node_name="a-0"), pod("web", apart("db", "rack"), cpu="12"))

    assert where(rig, "web") == "a-0"


def test_a_term_without_a_selector_is_about_nobody() -> None:
    rig = two_zones()
    rig.cluster.apply(pod("db", node_name="b-1"))
    rig.cluster.apply(pod("lonely", PodAffinityTerm(ZONE)), pod("free", PodAffinityTerm(ZONE, anti=True)))

    assert where(rig, "lonely") == ""
    assert where(rig, "free") != ""


# --- namespaces


@pytest.mark.parametrize(
    ("reach", "met"),
    [
        ({}, False),
        ({"namespaces": ("prod",)}, True),
        ({"namespaces": ("test",)}, False),
        ({"namespace_selector": LabelSelector()}, True),
        ({"namespace_selector": app("shop")}, True),
        ({"namespace_selector": app("bank")}, False),
        ({"namespaces": ("prod",), "namespace_selector": app("bank")}, True),
    ],
    ids=str,
)
def test_a_term_reaches_into_the_namespaces_it_names_or_selects(
    reach: dict[str, Any],
    met: bool,  # noqa: FBT001
) -> None:
    rig = Rig()
    rig.cluster.apply(Namespace(name="prod", labels={"app": "shop"}), in_zone("a-0", "a"))
    rig.cluster.apply(pod("db", namespace="prod", node_name="a-0"))
    rig.cluster.apply(pod("near", near("db", **reach)), pod("apart", apart("db", **reach)))

    assert bool(where(rig, "near")) is met
    assert bool(where(rig, "apart")) is not met


def test_the_anti_affinity_of_others_reaches_into_other_namespaces() -> None:
    rig = Rig()
    rig.cluster.apply(in_zone("a-0", "a"))
    term = apart("web", namespace_selector=LabelSelector())
    rig.cluster.apply(pod("db", term, namespace="prod", node_name="a-0"), pod("web"))

    assert where(rig, "web") == ""


def test_a_namespace_that_gets_other_labels_is_reached_from_then_on() -> None:
    rig = Rig()
    rig.cluster.apply(in_zone("a-0", "a"), pod("db", namespace="prod", node_name="a-0"))
    rig.cluster.apply(pod("web", near("db", namespace_selector=app("shop"))))
    assert where(rig, "web") == ""

    rig.cluster.apply(Namespace(name="prod", labels={"app": "shop"}))

    assert where(rig, "web") == "a-0"


# --- wishes, and daemons


def test_mere_wishes_hold_no_pod_up() -> None:
    rig = Rig()
    rig.cluster.apply(in_zone("a-0", "a"), pod("db", apart("web", weight=100), node_name="a-0"))
    rig.cluster.apply(pod("web", near("api", weight=100), apart("db", weight=1)))

    assert where(rig, "web") == "a-0"


def test_a_daemon_runs_where_those_are_that_it_must_be_near_and_waits_elsewhere() -> None:
    rig = two_zones()
    rig.cluster.apply(pod("gpu", node_name="a-0"), a_daemon_set("log", pod_affinity=(near("gpu"),)))
    rig.run(5)
    assert sorted(one.node_name for one in rig.pods_of("log")) == ["", "", "a-0"]

    rig.cluster.apply(pod("gpu-1", node_name="b-1"))
    rig.run(5)

    assert sorted(one.node_name for one in rig.pods_of("log")) == ["a-0", "b-0", "b-1"]


def test_a_daemon_keeps_off_a_node_of_pods_that_must_be_apart_from_it_until_they_are_gone() -> None:
    rig = two_zones()
    alone = PodAffinityTerm(HOSTNAME, LabelSelector(), anti=True)
    rig.cluster.apply(pod("db", alone, node_name="a-0"))
    rig.run(5)
    rig.cluster.apply(a_daemon_set("log"))
    rig.run(5)
    assert sorted(one.node_name for one in rig.pods_of("log")) == ["", "b-0", "b-1"]

    rig.cluster.delete("Pod", "db")
    rig.run(60)

    assert sorted(one.node_name for one in rig.pods_of("log")) == ["a-0", "b-0", "b-1"]
