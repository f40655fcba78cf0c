"""Pods refused for what others have to do with it: pods, their ports, and volumes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from tests.domain.packing.problems import asking, existing_node, expression, is_in, offer, pods, pool, problem
from treenail.domain.model import labels
from treenail.domain.model.pods import (
    HostPort,
    LabelSelector,
    Pod,
    PodAffinityTerm,
    PodResourceClaim,
    PodSpec,
    PodVolume,
    TopologySpread,
)
from treenail.domain.model.requirements import Operator, Requirements
from treenail.domain.model.taints import Effect, Taint
from treenail.domain.packing.advice.advice import Effort, with_remedies
from treenail.domain.packing.pack import pack
from treenail.domain.packing.plan import PackingPlan, RefusedClass
from treenail.domain.packing.problem import ExistingNode, Problem, Resident, VolumeNeeds
from treenail.domain.packing.refusal_reasons import Reason, Refusal, Values
from treenail.domain.packing.remedies import ChangeKind

WEB = LabelSelector((("app", "web"),))
DB = LabelSelector((("app", "db"),))


def labelled(some: tuple[Pod, ...], namespace: str = "default", **of: str) -> tuple[Pod, ...]:
    return tuple(replace(pod, labels=of, namespace=namespace) for pod in some)


def web(count: int, spec: PodSpec) -> tuple[Pod, ...]:
    return labelled(pods("web", count, spec), app="web")


def apart(key: str = labels.ZONE, selector: LabelSelector = WEB) -> PodAffinityTerm:
    return PodAffinityTerm(key, selector, anti=True)


def spread(key: str = labels.ZONE, skew: int = 1, **more: object) -> TopologySpread:
    return TopologySpread(key, skew, hard=True, selector=WEB, **more)  # type: ignore[arg-type]


def of_app(app: str, *, namespace: str = "default", terms: tuple[PodAffinityTerm, ...] = ()) -> Resident:
    return Resident(namespace=namespace, labels=(("app", app),), anti_affinity=terms)


def home(name: str, zone: str, *residents: tuple[Resident, int], cpu: int = 0) -> ExistingNode:
    own = {labels.ZONE: zone, labels.HOSTNAME: name}
    free: dict[str, str | int] = {"cpu": cpu, "memory": "1Gi", "pods": 9}
    return replace(existing_node(name, free, node_labels=own), residents=residents)


def refused(of: Problem) -> RefusedClass:
    (group,) = with_remedies(of, pack(of), pack).refused
    return group


def only(of: Problem) -> Refusal:
    (refusal,) = refused(of).refusals
    return refusal


def change(of: Problem) -> tuple[ChangeKind, Mapping[str, object] | None, Mapping[str, object] | None]:
    remedy = refused(of).remedy
    assert remedy is not None
    (made,) = remedy.changes
    return made.kind, made.before, made.after


# --- spread


def test_a_spread_says_what_it_counts_where() -> None:
    in_a = (offer(pool("default", is_in(labels.ZONE, "zone-a"))),)
    existing_nodes = (home("n1", "zone-a", (of_app("web"), 1)), home("n2", "zone-b"))
    of = problem(web(1, replace(asking(), spread=(spread(),))), offers=in_a, existing_nodes=existing_nodes)

    assert only(of) == Refusal(
        "default",
        Reason.TOPOLOGY_SPREAD,
        "its spread over topology.kubernetes.io/zone (maxSkew 1) lets no more into zone-a: "
        "the pods counted are 1 in zone-a, 0 in zone-b",
        Values(labels.ZONE, "maxSkew 1", ("zone-a=1", "zone-b=0"), "2"),
    )


def test_a_spread_over_more_domains_than_there_are() -> None:
    of = problem(web(3, replace(asking(), spread=(spread(min_domains=3),))))

    refusal = only(of)

    assert refusal.reason is Reason.TOPOLOGY_SPREAD
    assert refusal.detail.endswith("1 in zone-a, 1 in zone-b, in 2 of the 3 domains it wants at least")
    assert change(of)[0] is ChangeKind.RAISE_MAX_SKEW


def test_a_spread_over_a_label_that_the_pool_does_not_have() -> None:
    of = problem(web(2, replace(asking(), spread=(spread("rack"),))))

    assert only(of).detail == (
        "its spread over rack needs to know the rack of a new node, which the pool does not define"
    )
    assert change(of) == (
        ChangeKind.SCHEDULE_ANYWAY,
        {"topologyKey": "rack", "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"},
        {"topologyKey": "rack", "maxSkew": 1, "whenUnsatisfiable": "ScheduleAnyway"},
    )


# --- affinity


def test_pods_to_be_near_that_are_nowhere() -> None:
    of = problem(web(1, replace(asking(), pod_affinity=(PodAffinityTerm(labels.ZONE, DB),))))

    assert only(of) == Refusal(
        "default",
        Reason.POD_AFFINITY,
        "it must share its topology.kubernetes.io/zone with pods of app=db, "
        "and there are none in namespace default",
        Values(labels.ZONE, "app=db"),
    )
    assert change(of) == (
        ChangeKind.DROP_POD_AFFINITY,
        {"topologyKey": labels.ZONE, "labelSelector": {"matchLabels": {"app": "db"}}},
        None,
    )


@pytest.mark.parametrize("key", [labels.ZONE, labels.HOSTNAME])
def test_pods_to_be_near_that_are_in_another_namespace(key: str) -> None:
    near = PodAffinityTerm(key, DB)
    there = home("n", "zone-a", (of_app("db", namespace="data"), 1), cpu=4)
    of = problem(web(1, replace(asking(), pod_affinity=(near,))), existing_nodes=(there,))

    refusal = only(of)

    assert refusal.reason is Reason.POD_AFFINITY_NAMESPACE
    assert refusal.detail.endswith("none in namespace default; there are some in namespace data")
    kind, _, after = change(of)
    assert kind is ChangeKind.ADD_NAMESPACE
    assert after is not None
    assert after["namespaces"] == ["data", "default"]


def test_pods_to_be_near_that_have_no_place_themselves() -> None:
    of_web = LabelSelector((("app", "web"),))
    db = replace(asking(), pod_affinity=(PodAffinityTerm(labels.ZONE, of_web),))
    dbs = tuple(replace(pod, labels={"app": "db"}) for pod in pods("db", 1, db))

    webs = web(1, replace(asking(), pod_affinity=(PodAffinityTerm(labels.ZONE, DB),)))

    said = {group.pods[0]: group.refusals[0].detail for group in pack(problem(webs, dbs)).refused}
    assert said["web-0"] == (
        "it must share its topology.kubernetes.io/zone with pods of app=db, "
        "and none of those in namespace default has a place"
    )


def test_pods_to_be_near_that_are_where_there_is_no_room() -> None:
    near = PodAffinityTerm(labels.HOSTNAME, DB)
    of = problem(
        web(1, replace(asking(), pod_affinity=(near,))),
        existing_nodes=(home("n", "zone-a", (of_app("db"), 1)),),
    )

    assert only(of).detail == (
        "it must share its kubernetes.io/hostname with pods of app=db, where it finds no room"
    )
    assert refused(of).nearest == only(of)


def test_more_pods_apart_than_there_are_zones() -> None:
    of = problem(web(5, replace(asking(), pod_affinity=(apart(),))))

    group = refused(of)

    assert len(group.pods) == 3
    assert group.refusals == (
        Refusal(
            "default",
            Reason.POD_ANTI_AFFINITY,
            "it must keep apart from pods of app=web, and there are some in every "
            "topology.kubernetes.io/zone it could go to: zone-a, zone-b",
            Values(labels.ZONE, "app=web", ("zone-a", "zone-b")),
        ),
    )
    assert change(of)[0] is ChangeKind.DROP_POD_AFFINITY


def test_pods_that_keep_others_away() -> None:
    hermit = of_app("hermit", terms=(apart(),))
    existing_nodes = tuple(home(f"n-{zone}", zone, (hermit, 1)) for zone in ("zone-a", "zone-b"))

    refusal = only(problem(web(1, asking()), existing_nodes=existing_nodes))

    assert refusal.reason is Reason.OTHERS_ANTI_AFFINITY
    assert refusal.detail == (
        "there are pods that keep apart from pods of app=web, as it is one, in every "
        "topology.kubernetes.io/zone it could go to: zone-a, zone-b"
    )


# --- ports and volumes


def test_a_port_that_a_daemon_has_on_every_node() -> None:
    daemon = replace(asking("100m"), host_ports=(HostPort(9100),))
    of = problem(web(1, replace(asking(), host_ports=(HostPort(9100, ip="10.0.0.1"),))), daemons=(daemon,))

    assert only(of) == Refusal(
        "default",
        Reason.HOST_PORT_TAKEN,
        "the host port 9100/TCP is taken by a daemon on every new node",
        Values("9100/TCP", "9100/TCP"),
    )
    assert change(of) == (ChangeKind.CHANGE_HOST_PORT, {"hostPort": 9100}, {"hostPort": 9101})


def reached(*zones: str) -> VolumeNeeds:
    return VolumeNeeds(alternatives=tuple(Requirements((is_in(labels.ZONE, zone),)) for zone in zones))


def with_volume(needs: VolumeNeeds, spec: PodSpec, **more: Any) -> Problem:
    some = pods("web", 1, replace(spec, volumes=(PodVolume("data", claim_name="data"),)))
    return problem(some, volumes={"web-0": needs}, **more)


def test_a_volume_in_another_zone_than_the_pod_wants() -> None:
    of = with_volume(reached("zone-b"), asking(selector={labels.ZONE: "zone-a"}))

    assert only(of) == Refusal(
        "",
        Reason.VOLUME_TOPOLOGY,
        "its volumes can be reached only where topology.kubernetes.io/zone In ['zone-b'], "
        "and the pod has topology.kubernetes.io/zone In ['zone-a']",
        Values(labels.ZONE, "topology.kubernetes.io/zone In ['zone-b']", ("zone-a",), "zone-b"),
    )
    assert change(of) == (
        ChangeKind.CORRECT_REQUIREMENT,
        {labels.ZONE: "zone-a"},
        {labels.ZONE: "zone-b"},
    )


def test_a_volume_in_another_zone_than_the_pool_is_in() -> None:
    in_a = (offer(pool("default", is_in(labels.ZONE, "zone-a"))),)
    of = with_volume(reached("zone-b"), asking(), offers=in_a)

    assert only(of).reason is Reason.VOLUME_TOPOLOGY
    assert change(of)[0] is ChangeKind.WIDEN_POOL_REQUIREMENT


def test_a_volume_where_nothing_is_sold() -> None:
    refusal = only(with_volume(reached("zone-z"), asking()))

    assert (refusal.pool, refusal.reason) == ("default", Reason.VOLUME_TOPOLOGY)
    assert refusal.detail.endswith("and the pool has topology.kubernetes.io/zone In ['zone-a', 'zone-b']")


def test_a_claim_on_storage_that_is_not_there() -> None:
    group = refused(with_volume(VolumeNeeds(problem="the claim default/data is not there"), asking()))

    assert group.refusals == (Refusal("", Reason.VOLUME_CLAIM, "the claim default/data is not there"),)
    assert group.remedy is None


def test_a_pod_that_contradicts_itself_beside_a_volume() -> None:
    both = [(expression(labels.ZONE, Operator.IN, "zone-b"),)]
    of = with_volume(reached("zone-b"), asking(selector={labels.ZONE: "zone-a"}, required=both))

    assert only(of).reason is Reason.CONTRADICTORY_REQUIREMENTS


# --- devices


def with_devices(nodes: Requirements, spec: PodSpec, **more: Any) -> Problem:
    claims = (PodResourceClaim("gpu", "shared"),)
    needs = VolumeNeeds(alternatives=(nodes,), device_nodes=(nodes,))
    return problem(pods("web", 1, replace(spec, resource_claims=claims)), volumes={"web-0": needs}, **more)


IN_B = Requirements((is_in(labels.ZONE, "zone-b"),))
ON_N = Requirements((is_in(labels.NODE_NAME, "n"),))


def test_devices_in_another_zone_than_the_pod_wants() -> None:
    of = with_devices(IN_B, asking(selector={labels.ZONE: "zone-a"}))

    assert only(of) == Refusal(
        "",
        Reason.DEVICE_TOPOLOGY,
        "the devices of its resource claims can be used only where topology.kubernetes.io/zone In ['zone-b']"
        ", and the pod has topology.kubernetes.io/zone In ['zone-a']",
        Values(labels.ZONE, "topology.kubernetes.io/zone In ['zone-b']", ("zone-a",), "zone-b"),
    )
    assert change(of)[0] is ChangeKind.CORRECT_REQUIREMENT


def test_devices_in_another_zone_than_the_pool_is_in() -> None:
    in_a = (offer(pool("default", is_in(labels.ZONE, "zone-a"))),)
    of = with_devices(IN_B, asking(), offers=in_a)

    assert only(of).reason is Reason.DEVICE_TOPOLOGY
    assert change(of)[0] is ChangeKind.WIDEN_POOL_REQUIREMENT


def test_devices_of_a_node_are_not_found_on_a_new_one() -> None:
    group = refused(with_devices(ON_N, asking()))

    assert only(with_devices(ON_N, asking())).reason is Reason.DEVICE_TOPOLOGY
    assert group.refusals[0].detail.endswith("and a node still to be bought has no name yet")
    assert group.remedy is None


def test_devices_of_another_node_keep_a_pod_off_a_node() -> None:
    other = home("other", "zone-a", cpu=4)
    nearest = refused(with_devices(ON_N, asking(), offers=(), existing_nodes=(other,))).nearest

    assert nearest is not None
    assert (nearest.node, nearest.reason) == ("other", Reason.DEVICE_TOPOLOGY)


def test_a_pod_goes_to_the_node_of_its_devices_though_another_has_more_room() -> None:
    small, large = home("n", "zone-a", cpu=2), home("m", "zone-a", cpu=16)
    there = tuple(replace(one, labels={**one.labels, labels.NODE_NAME: one.name}) for one in (large, small))
    plan = pack(with_devices(ON_N, asking(), existing_nodes=there))

    assert dict(plan.nominations) == {"web-0": "n"}


def test_a_pod_goes_to_a_new_node_where_its_devices_are() -> None:
    (claim,) = pack(with_devices(IN_B, asking())).claims

    assert claim.requirements[labels.ZONE].values == {"zone-b"}


# --- on nodes that are there, where there is no pool


def at_node(spec: PodSpec, *existing_nodes: ExistingNode) -> Refusal:
    nearest = refused(problem(web(1, spec), offers=(), existing_nodes=existing_nodes)).nearest
    assert nearest is not None
    return nearest


def test_a_port_that_a_pod_has_on_the_node() -> None:
    port = Resident(namespace="default", host_ports=(HostPort(80),))
    spec = replace(asking(), host_ports=(HostPort(80),))

    assert str(at_node(spec, home("n", "zone-a", (port, 1), cpu=4))) == (
        "node n: the host port 80/TCP is taken there"
    )


def test_a_node_that_takes_no_more_volumes() -> None:
    full = replace(home("n", "zone-a", cpu=4), attachable={"ebs.csi.aws.com": 1})
    needs = VolumeNeeds(fresh=(("ebs.csi.aws.com", 2),))

    nearest = refused(with_volume(needs, asking(), offers=(), existing_nodes=(full,))).nearest

    assert nearest is not None
    assert (nearest.node, nearest.reason) == ("n", Reason.VOLUME_LIMIT)
    assert nearest.detail == "2 more volumes of ebs.csi.aws.com would have to be attached, and 1 can be"


def test_a_node_out_of_a_volumes_reach() -> None:
    nearest = refused(
        with_volume(reached("zone-b"), asking(), offers=(), existing_nodes=(home("n", "zone-a", cpu=4),))
    ).nearest

    assert nearest is not None
    assert (nearest.node, nearest.reason) == ("n", Reason.VOLUME_TOPOLOGY)


@pytest.mark.parametrize(
    ("spec", "resident", "reason"),
    [
        (replace(asking(), pod_affinity=(apart(labels.HOSTNAME),)), of_app("web"), Reason.POD_ANTI_AFFINITY),
        (
            replace(asking(), pod_affinity=(PodAffinityTerm(labels.HOSTNAME, DB),)),
            of_app("web"),
            Reason.POD_AFFINITY,
        ),
        (replace(asking(), spread=(spread(labels.HOSTNAME),)), of_app("web"), Reason.TOPOLOGY_SPREAD),
        (asking(), of_app("db", terms=(apart(labels.HOSTNAME),)), Reason.OTHERS_ANTI_AFFINITY),
    ],
)
def test_what_keeps_pods_off_a_node_with_room(spec: PodSpec, resident: Resident, reason: Reason) -> None:
    nearest = at_node(spec, home("n", "zone-a", (resident, 1), cpu=4))

    assert (nearest.node, nearest.reason) == ("n", reason)


def test_those_on_nodes_that_are_not_tried_have_their_say_too() -> None:
    hermit = of_app("hermit", terms=(apart(),))
    existing_nodes = tuple(home(f"n{n:02}", ("zone-a", "zone-b")[n % 2], (hermit, 2)) for n in range(40))
    of = problem(web(1, asking()), existing_nodes=existing_nodes)

    (group,) = with_remedies(of, pack(of), pack, Effort(existing_nodes=2)).refused

    assert group.refusals[0].reason is Reason.OTHERS_ANTI_AFFINITY
    assert group.remedy is None


def test_advice_keeps_in_mind_the_zones_of_pools_that_pods_cannot_use() -> None:
    team = Taint("team", Effect.NO_SCHEDULE, "gpu")
    offers = (
        offer(pool("a", is_in(labels.ZONE, "zone-a"))),
        offer(pool("b", is_in(labels.ZONE, "zone-b"), taints=(team,))),
    )

    group = refused(problem(web(4, replace(asking(), spread=(spread(),))), offers=offers))

    assert len(group.pods) == 3
    assert [refusal.reason for refusal in group.refusals] == [
        Reason.TOPOLOGY_SPREAD,
        Reason.UNTOLERATED_TAINT,
    ]
    assert str(group.remedy) == "it would fit if it tolerated team=gpu:NoSchedule"


def test_a_plan_of_many_terms_is_advised_as_one_of_few() -> None:
    of = problem(web(4, replace(asking(), pod_affinity=(apart(),), spread=(spread(labels.HOSTNAME),))))

    def advised() -> PackingPlan:
        return with_remedies(of, pack(of), pack)

    assert advised() == advised()
    assert advised().refused[0].remedy is not None
