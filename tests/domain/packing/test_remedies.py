from __future__ import annotations

from dataclasses import replace

from tests.domain.packing.advised import advised
from tests.domain.packing.problems import (
    asking,
    existing_node,
    expression,
    instance_type,
    is_in,
    offer,
    pods,
    pool,
    problem,
)
from treenail.domain.model import labels
from treenail.domain.model.node_pools import Generation
from treenail.domain.model.pods import PodSpec
from treenail.domain.model.requirements import Operator, Requirement
from treenail.domain.model.resources import Resources
from treenail.domain.model.taints import UNSCHEDULABLE, Effect, Taint
from treenail.domain.packing.pack import pack
from treenail.domain.packing.problem import ExistingNode, PoolOffer
from treenail.domain.packing.refusal_reasons import Reason, Refusal, Values
from treenail.domain.packing.remedies import ChangeKind, ManifestChange

TEAM = Taint("team", Effect.NO_SCHEDULE, "gpu")
GPU = instance_type("g5.xlarge", cpu=4, memory=16, price=1.0, more={"nvidia.com/gpu": 1})


def advice(
    spec: PodSpec, *offers: PoolOffer, existing_nodes: tuple[ExistingNode, ...] = (), count: int = 2
) -> tuple[ManifestChange, ...]:
    (group,) = advised(
        problem(pods("web", count, spec), offers=offers or (offer(),), existing_nodes=existing_nodes)
    )
    assert group.remedy is not None
    return group.remedy.changes


def only(
    spec: PodSpec, *offers: PoolOffer, existing_nodes: tuple[ExistingNode, ...] = ()
) -> tuple[ChangeKind, str]:
    (change,) = advice(spec, *offers, existing_nodes=existing_nodes)
    return change.kind, change.condition


# --- changes of a pod


def test_a_taint_would_have_to_be_tolerated() -> None:
    assert advice(asking(), offer(pool(taints=(TEAM,)))) == (
        ManifestChange(
            kind=ChangeKind.ADD_TOLERATION,
            object="Pod",
            path="spec.tolerations[]",
            before=None,
            after={"key": "team", "operator": "Equal", "value": "gpu", "effect": "NoSchedule"},
            condition="it tolerated team=gpu:NoSchedule",
        ),
    )
    bare = offer(pool(taints=(Taint("edge", Effect.NO_EXECUTE),)))
    (change,) = advice(asking(), bare)
    assert change.after == {"key": "edge", "operator": "Exists", "effect": "NoExecute"}


def test_a_slip_of_the_pen_is_put_right_in_a_selector() -> None:
    of = offer(pool(node_labels={"example.com/team": "a"}))

    assert advice(asking(selector={"example.com/taem": "a"}), of) == (
        ManifestChange(
            kind=ChangeKind.CORRECT_REQUIREMENT,
            object="Pod",
            path="spec.nodeSelector",
            before={"example.com/taem": "a"},
            after={"example.com/team": "a"},
            condition="it asked for example.com/team=a instead of example.com/taem=a",
        ),
    )


def test_a_slip_of_the_pen_is_put_right_in_an_affinity() -> None:
    asked = expression(labels.INSTANCE_TYPE, Operator.IN, "c5.xlrage", "x9.large")

    (change,) = advice(asking(required=[(asked,)]))

    assert change.path == (
        "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution"
        ".nodeSelectorTerms[].matchExpressions[]"
    )
    assert change.before == {
        "key": labels.INSTANCE_TYPE,
        "operator": "In",
        "values": ["c5.xlrage", "x9.large"],
    }
    assert change.after == {
        "key": labels.INSTANCE_TYPE,
        "operator": "In",
        "values": ["c5.xlarge", "x9.large"],
    }


def test_what_no_pool_offers_would_have_to_be_dropped() -> None:
    assert advice(asking(selector={"colour": "red", labels.ARCH: "amd64"})) == (
        ManifestChange(
            kind=ChangeKind.DROP_REQUIREMENT,
            object="Pod",
            path="spec.nodeSelector",
            before={"colour": "red"},
            after=None,
            condition="it did not ask for colour=red",
        ),
    )


def test_one_expression_of_several_is_dropped_from_its_term() -> None:
    term = (expression(labels.ARCH, Operator.IN, "amd64"), expression("rack", Operator.EXISTS))

    (change,) = advice(asking(required=[term]))

    assert change.path.endswith("matchExpressions[]")
    assert (change.before, change.after) == ({"key": "rack", "operator": "Exists"}, None)


def test_the_only_expression_of_an_affinity_goes_with_all_of_it() -> None:
    (change,) = advice(asking(required=[(expression("rack", Operator.EXISTS),)]))

    assert (change.path, change.after) == ("spec.affinity.nodeAffinity", None)
    assert change.before == {
        "requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": [{"matchExpressions": [{"key": "rack", "operator": "Exists"}]}]
        }
    }


def test_a_contradiction_is_solved_by_dropping_either_side() -> None:
    both = [(expression(labels.ZONE, Operator.IN, "zone-b"),)]

    assert only(asking(selector={labels.ZONE: "zone-a"}, required=both)) == (
        ChangeKind.DROP_REQUIREMENT,
        "it did not ask for topology.kubernetes.io/zone=zone-a",
    )


def test_too_large_a_request_would_have_to_be_what_the_largest_type_leaves() -> None:
    (change,) = advice(asking(900))

    assert (change.kind, change.path) == (ChangeKind.LOWER_REQUEST, "spec.containers[].resources.requests")
    assert (change.before, change.after) == ({"cpu": "900"}, {"cpu": "31920m"})


def test_requests_that_no_type_holds_at_once_are_lowered_by_the_least() -> None:
    slim = instance_type("c5.8xlarge", cpu=32, memory=64, price=1.4)
    fat = instance_type("r5.2xlarge", cpu=8, memory=64 * 2, price=0.5)

    assert only(asking(30, "100Gi"), offer(types=(slim, fat))) == (
        ChangeKind.LOWER_REQUEST,
        "it asked for 64636Mi of memory instead of 100Gi",
    )


def test_a_device_of_a_wrong_name_is_renamed_where_its_limit_stands() -> None:
    devices = Resources({"nvidia.com/gpus": 1})
    spec = replace(asking(more={"nvidia.com/gpus": 1}), limits=devices)

    (change,) = advice(spec, offer(types=(GPU,)), count=1)

    assert (change.kind, change.path) == (ChangeKind.RENAME_RESOURCE, "spec.containers[].resources.limits")
    assert (change.before, change.after) == ({"nvidia.com/gpus": "1"}, {"nvidia.com/gpu": "1"})


def test_a_device_that_nobody_has_would_have_to_go() -> None:
    assert only(asking(more={"example.com/fpga": 1})) == (
        ChangeKind.DROP_REQUEST,
        "it did not ask for example.com/fpga",
    )


def test_what_ran_out_would_have_to_be_asked_for_otherwise() -> None:
    spot = [("zone-a", labels.SPOT), ("zone-b", labels.SPOT)]
    types = (instance_type("c5.large", cpu=2, memory=4, price=0.1, out_of=spot),)

    assert only(asking(selector={labels.CAPACITY_TYPE: labels.SPOT}), offer(types=types)) == (
        ChangeKind.DROP_REQUIREMENT,
        "it did not ask for karpenter.sh/capacity-type=spot",
    )
    of = pool("default", is_in(labels.CAPACITY_TYPE, labels.SPOT))
    assert only(asking(), offer(of, types)) == (
        ChangeKind.WIDEN_POOL_REQUIREMENT,
        "NodePool default allowed karpenter.sh/capacity-type=on-demand",
    )


def test_several_changes_are_put_together_where_one_is_not_enough() -> None:
    found = advice(asking(100, selector={"colour": "red"}), offer(pool(taints=(TEAM,))))

    assert [change.condition for change in found] == [
        "it tolerated team=gpu:NoSchedule",
        "it did not ask for colour=red",
        "it asked for 31920m of cpu instead of 100",
    ]


# --- changes of a pool


def test_a_limit_would_have_to_be_raised_for_all_that_wait() -> None:
    limited = replace(pool(), limits=Resources.parse({"cpu": 10, "memory": "100Gi"}))
    of = replace(offer(limited), limits_left=Resources.parse({"cpu": 2, "memory": "50Gi"}))

    (group,) = advised(problem(pods("web", 8, asking("7500m")), offers=(of,)))
    assert group.remedy is not None
    (change,) = group.remedy.changes

    assert (change.kind, change.object, change.path) == (
        ChangeKind.RAISE_LIMIT,
        "NodePool default",
        "spec.limits",
    )
    assert change.before == {"cpu": "10", "memory": "100Gi"}
    assert change.after is not None
    assert change.after["cpu"] == "72"
    assert group.remedy.for_all


def test_pools_of_the_old_api_have_their_limits_elsewhere() -> None:
    old = replace(pool(), generation=Generation.V1ALPHA5, limits=Resources.parse({"cpu": 10}))
    of = replace(offer(old), limits_left=Resources.parse({"cpu": 1}))

    (change,) = advice(asking(), of)

    assert (change.object, change.path) == ("Provisioner default", "spec.limits.resources")


def test_a_pool_is_changed_only_where_the_pod_cannot_be() -> None:
    of = offer(pool("default", is_in(labels.ARCH, "riscv")))

    assert only(asking(), of) == (
        ChangeKind.DROP_POOL_REQUIREMENT,
        "NodePool default did not require kubernetes.io/arch In [riscv]",
    )


def test_a_wish_for_choice_would_have_to_be_given_up() -> None:
    choosy = Requirement.of(labels.INSTANCE_FAMILY, Operator.IN, ("c5", "m5"), min_values=2)
    limited = replace(pool("default", choosy), limits=Resources.parse({"cpu": 1}))
    of = replace(offer(limited), limits_left=Resources.parse({"cpu": 1}))

    (group,) = advised(problem(pods("web", 1, asking(1, "100Gi")), offers=(of,)))

    assert group.refusals == (
        Refusal(
            "default",
            Reason.MIN_VALUES,
            "the pool's minValues for karpenter.k8s.aws/instance-family is 2, and what is left has 1",
            Values(labels.INSTANCE_FAMILY, "2", ("1",)),
        ),
    )
    assert group.remedy is not None
    assert [change.condition for change in group.remedy.changes] == [
        "the minValues of NodePool default for karpenter.k8s.aws/instance-family were 1 instead of 2",
        "NodePool default were allowed 32 of cpu instead of 1",
    ]


# --- cordoned nodes


def cordoned(name: str, cpu: str, *taints: Taint) -> ExistingNode:
    known = {labels.NODE_NAME: f"node-{name}"}
    there = existing_node(name, {"cpu": cpu, "pods": 9}, node_labels=known, taints=(UNSCHEDULABLE, *taints))
    return replace(there, open=False, cordoned=True)


def test_a_cordoned_node_that_would_hold_the_pods_could_be_opened() -> None:
    worn, small = cordoned("worn", "8"), cordoned("small", "1")
    nowhere = offer(pool(), limits={"cpu": 0})

    (group,) = advised(
        problem(pods("web", 2, asking(cpu="3")), offers=(nowhere,), existing_nodes=(small, worn))
    )

    assert group.remedy is not None
    assert group.remedy.changes == (
        ManifestChange(
            kind=ChangeKind.UNCORDON,
            object="Node node-worn",
            path="spec",
            before={"unschedulable": True},
            after={"unschedulable": False},
            condition="node node-worn were not cordoned (kubectl uncordon node-worn)",
        ),
    )
    assert group.remedy.node == "node-worn"


def test_one_that_would_not_is_no_advice() -> None:
    nowhere = offer(pool(), limits={"cpu": 0})

    for refusing in (cordoned("small", "1"), cordoned("dedicated", "8", TEAM)):
        for change in advice(asking(cpu="3"), nowhere, existing_nodes=(refusing,), count=1):
            assert change.kind is not ChangeKind.UNCORDON


def test_nothing_goes_to_a_cordoned_node() -> None:
    plan = pack(problem(pods("web", 1, asking(cpu="3")), existing_nodes=(cordoned("worn", "8"),)))

    assert plan.nominations == {}
    assert len(plan.claims) == 1
