from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.adapters.fake.cluster.builders import a_pod
from tests.builders import decision
from treenail.domain.launch.launching import ClaimFailed
from treenail.domain.model.causes import Cause
from treenail.domain.packing.plan import RefusedClass
from treenail.testing import NodeLaunched, PlanCommitted, Rehearsal, record, replay, timeline_text
from treenail.testing.refusal_log import RefusalLog

POD = """
apiVersion: v1
kind: Pod
metadata: {name: %s}
spec: {containers: [{name: app, image: pause, resources: {requests: {cpu: "%s"}}}]}
"""
POOL = """
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: default}
spec:
  limits: {cpu: "4"}
  template:
    spec:
      requirements: [{key: karpenter.sh/capacity-type, operator: In, values: [spot, on-demand]}]
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
---
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: default}
spec:
  role: node
  amiSelectorTerms: [{alias: al2023@latest}]
  subnetSelectorTerms: [{tags: {discovery: demo}}]
  securityGroupSelectorTerms: [{tags: {discovery: demo}}]
"""


def test_each_waiting_pod_has_the_code_it_was_refused_with() -> None:
    with Rehearsal(seed=1) as cluster:
        cluster.apply(POOL, POD % ("fits", "1"), POD % ("large", "7"))
        plan = cluster.expect(PlanCommitted)
        cluster.run("2m")

        [large] = cluster.waiting()
        [(_, refused)] = plan.refused

        assert (large.key, large.code) == ("default/large", "LimitReached")
        assert refused.nearest is not None
        assert refused.nearest.reason.value == large.code
        assert "LimitReached" in large.reason


def test_a_pod_that_is_placed_at_last_waits_for_no_reason_any_more() -> None:
    with Rehearsal(seed=1) as cluster:
        cluster.run_out("*", "*")
        cluster.apply(POOL, POD % ("web", "1"))
        cluster.run("2m")
        assert [pod.code for pod in cluster.waiting()] == ["insufficient_capacity"]

        cluster.restock()
        cluster.expect(NodeLaunched, within="30m")
        assert [pod.code for pod in cluster.waiting()] == [""]
        cluster.run("3m")

        assert cluster.waiting() == ()


def test_a_pod_that_the_scheduler_bound_by_itself_waits_for_no_node_any_more() -> None:
    small = POOL.replace("values: [spot, on-demand]}", "values: [on-demand]}").replace(
        "requirements: [",
        "requirements: [{key: node.kubernetes.io/instance-type, operator: In, values: [c5.large]}, ",
    )
    with Rehearsal(seed=1) as cluster:
        cluster.apply(small, POD % ("web", "1"), POD % ("keep", "0.1"))
        cluster.run("5m")
        cluster.run_out("*", "*")
        cluster.apply(POD % ("big", "1"))
        cluster.run("2m")
        assert [pod.code for pod in cluster.waiting()] == ["NoCapacity"]

        cluster.delete("Pod", "web")
        cluster.run_until(lambda: any(pod.name == "big" and pod.node_name for pod in cluster.pods()))

        [bound] = cluster.waiting()
        assert (bound.key, bound.code) == ("default/big", "")
        assert bound.reason.startswith("it is bound to node")


def test_a_claim_that_fails_says_nothing_of_pods_that_have_another_place_or_were_refused_since() -> None:
    log = RefusalLog()
    moved, refused, still = (replace(a_pod(name), uid=name) for name in ("moved", "refused", "still"))
    nothing = RefusedClass(pods=(refused.uid,), refusals=())
    made = PlanCommitted(decision=decision(), claims=())
    log.note("", replace(made, places=tuple((pod, "nodeclaim/a") for pod in (moved, refused, still))))
    log.note("", replace(made, places=((moved, "nodeclaim/b"),), refused=((refused, nothing),)))

    log.note("", ClaimFailed(claim="a", cause=Cause.INSUFFICIENT_CAPACITY, why="none left"))

    assert [log.code(pod.uid) for pod in (moved, refused, still)] == ["", "", "insufficient_capacity"]


def test_events_say_whose_they_are() -> None:
    with Rehearsal(seed=1) as cluster:
        cluster.apply(POOL, POD % ("large", "7"))
        cluster.run("1m")
        said = [one for one in cluster.cluster.events() if one.event.reason == "FailedScheduling"]

        assert {one.source for one in said} == {"treenail", "default-scheduler"}
        assert all("LimitReached" in one.event.message for one in said if one.source == "treenail")


def test_capacity_of_one_kind_runs_out_and_comes_back() -> None:
    with Rehearsal(seed=1) as cluster:
        cluster.run_out("*", "*", "spot")
        cluster.apply(POOL, POD % ("web", "1"))
        bought = cluster.expect(NodeLaunched)
        assert bought.instance.capacity_type == "on-demand"
        assert cluster.cost_per_hour() == bought.instance.price

        with pytest.raises(ValueError, match="there is no capacity type sport: there are on-demand"):
            cluster.restock(capacity_type="sport")


@pytest.mark.parametrize("of", [("m5.large",), ("*", "us-east-1a"), ("*", "*", "on-demand")], ids=str)
def test_a_part_of_what_ran_out_comes_back_alone(of: tuple[str, ...]) -> None:
    with Rehearsal(seed=1) as cluster:
        cluster.run_out("*", "*")
        cluster.apply(POOL, POD % ("web", "1"))
        cluster.run("2m")
        cluster.restock(*of)

        bought = cluster.expect(NodeLaunched, within="30m").instance

        assert set(of) - {"*"} <= {bought.instance_type, bought.zone, bought.capacity_type}


def test_a_shortage_and_its_end_are_recorded(tmp_path: Path) -> None:
    with Rehearsal(seed=1) as cluster:
        cluster.run_out("*", "*", "spot")
        cluster.apply(POOL, POD % ("web", "1"))
        cluster.run("1m")
        cluster.restock("*", "*", "spot")
        cluster.apply(POD % ("other", "1"))
        cluster.run("2m")
        record(cluster, tmp_path / "shortage.json")

    again = replay(tmp_path / "shortage.json")

    again.check()
    assert "CapacityReturns" in timeline_text(again.rehearsal)
