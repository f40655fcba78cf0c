"""Steps of cases: what is done to the cluster, and what is expected of it."""

from __future__ import annotations

import email
import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from typing import Any, cast

import yaml

from tests.conformance.objects import key_of, needs, taints
from tests.conformance.stage import Stage, Step
from tests.conformance.volumes import csi_node
from treenail.adapters.fake.ec2 import EC2Faults, Shortfall, Spell
from treenail.adapters.fake.ec2.network import Subnet
from treenail.adapters.fake.ec2.reservations import ReservedCapacity
from treenail.domain.interruption.message_parsing import InterruptionKind
from treenail.domain.model.events import ObjectRef
from treenail.domain.model.labels import CAPACITY_TYPE, ZONE
from treenail.domain.model.node_pools import NodePool
from treenail.domain.model.nodes import READY, Condition, Status, condition_of
from treenail.domain.model.requirements import Operator, Requirement
from treenail.domain.model.resources import Resources
from treenail.domain.model.taints import Effect, Taint
from treenail.domain.model.template_hash import NODEPOOL_HASH
from treenail.domain.status.pool_usage import PoolUsage


def on(name: str, /, more: Mapping[str, str | None] | None = None, **labels: str | None) -> Step:
    """Expect that the pods of a name are on nodes with these labels; None is a label they lack."""
    wanted = {key_of(key): value for key, value in {**(more or {}), **labels}.items()}

    def check(stage: Stage) -> None:
        pods = stage.pods(name)
        assert pods, f"there is no pod {name}"
        for pod in pods:
            node = stage.node_of(pod)
            assert {key: node.labels.get(key) for key in wanted} == wanted

    return check


def refused(*names: str) -> Step:
    """Expect that the pods of these names wait, and that an event says why."""

    def check(stage: Stage) -> None:
        for name in names:
            pods = stage.pods(name)
            assert pods, f"there is no pod {name}"
            for pod in pods:
                assert not pod.node_name, f"{pod.name} is on {pod.node_name}"
                assert "FailedScheduling" in stage.why(pod)

    return check


def together(*names: str) -> Step:
    """Expect that all pods of these names are on one node."""

    def check(stage: Stage) -> None:
        nodes = {stage.node_of(pod).name for name in names for pod in stage.pods(name)}
        assert len(nodes) == 1, f"they are on {sorted(nodes)}"

    return check


def apart(*names: str, by: str = "host") -> Step:
    """Expect that no two pods of these names are on one node, or in one domain of a label."""

    def check(stage: Stage) -> None:
        pods = [pod for name in names for pod in stage.pods(name)]
        domains = [stage.node_of(pod).labels[key_of(by)] for pod in pods]
        assert len(set(domains)) == len(pods) > 1, f"they are in {domains}"

    return check


def split(name: str, by: str, *counts: int) -> Step:
    """Expect that the pods of a name that run are split so over the domains of a label, fewest first."""

    def check(stage: Stage) -> None:
        placed = [pod for pod in stage.pods(name) if pod.node_name]
        domains = Counter(stage.node_of(pod).labels[key_of(by)] for pod in placed)
        assert tuple(sorted(domains.values())) == counts, f"they are split {dict(domains)}"

    return check


def waiting(name: str, count: int) -> Step:
    """Expect that so many of the pods of a name have no node."""

    def check(stage: Stage) -> None:
        assert sum(not pod.node_name for pod in stage.pods(name)) == count

    return check


def most(name: str, by: str, count: int) -> Step:
    """Expect that no domain of a label has more than so many pods of a name."""

    def check(stage: Stage) -> None:
        placed = [pod for pod in stage.pods(name) if pod.node_name]
        domains = Counter(stage.node_of(pod).labels[key_of(by)] for pod in placed)
        assert max(domains.values()) <= count, f"they are split {dict(domains)}"

    return check


def level(name: str, by: str, skew: int, *, domains: int = 1) -> Step:
    """Expect that the domains of a label differ by no more than `skew` pods of a name; all have a node."""

    def check(stage: Stage) -> None:
        counts = Counter(stage.node_of(pod).labels[key_of(by)] for pod in stage.pods(name))
        least = min(counts.values()) if len(counts) >= domains else 0
        assert max(counts.values()) - least <= skew, f"they are split {dict(counts)}"

    return check


def alike(by: str, *names: str) -> Step:
    """Expect that all pods of these names are on nodes with one value of a label."""

    def check(stage: Stage) -> None:
        values = {stage.node_of(pod).labels[key_of(by)] for name in names for pod in stage.pods(name)}
        assert len(values) == 1, f"they are in {sorted(values)}"

    return check


def nodes(count: int) -> Step:
    """Expect that there are so many nodes, and as many claims."""

    def check(stage: Stage) -> None:
        rehearsal = stage.rehearsal
        there = [f"{n.name} {n.labels.get(key_of('type'))}" for n in rehearsal.nodes()]
        assert (len(there), len(rehearsal.claims())) == (count, count), f"there are {there}"

    return check


def tainted(name: str, *texts: str) -> Step:
    """Put taints on the node of a pod, written as "key=value:NoSchedule"."""

    def do(stage: Stage) -> None:
        node = stage.node_of(stage.pod(name))
        stage.rehearsal.cluster.apply(replace(node, taints=(*node.taints, *_taints(*texts))))

    return do


def _taints(*texts: str) -> tuple[Taint, ...]:
    return tuple(Taint(one["key"], Effect(one["effect"]), one.get("value", "")) for one in taints(*texts))


def untainted(name: str, *, but: str = "") -> Step:
    """Take all taints off the node of a pod, and put one on."""

    def do(stage: Stage) -> None:
        left = _taints(*([but] if but else []))
        stage.rehearsal.cluster.apply(replace(stage.node_of(stage.pod(name)), taints=left))

    return do


def node_deleted(name: str) -> Step:
    """Delete the node of a pod, as a person would."""

    def do(stage: Stage) -> None:
        stage.rehearsal.delete("Node", stage.node_of(stage.pod(name)).name)

    return do


def short_of(resource: str) -> Step:
    """Let nodes come up with none of a resource, whatever their type has."""

    def do(stage: Stage) -> None:
        stage.rehearsal.ec2.set_shortfalls(Shortfall(at_most=Resources.parse({resource: 0})))

    return do


def nodes_bought(count: int) -> Step:
    """Expect that so many instances were ever launched."""

    def check(stage: Stage) -> None:
        assert len(stage.rehearsal.ec2.all_instances()) == count

    return check


def limited_volumes(name: str, driver: str, count: int) -> Step:
    """Let the node of a pod take so many volumes of a driver."""

    def do(stage: Stage) -> None:
        stage.apply(csi_node(stage.node_of(stage.pod(name)).name, driver, count))
        stage.run(1)

    return do


def one_of(name: str, key: str, *values: str) -> Step:
    """Expect that the pods of a name are on nodes with one of these values of a label."""

    def check(stage: Stage) -> None:
        for pod in stage.pods(name):
            assert stage.node_of(pod).labels[key_of(key)] in values

    return check


def relabelled(name: str, **labels: str) -> Step:
    """Put labels on the node of a pod."""

    def do(stage: Stage) -> None:
        node = stage.node_of(stage.pod(name))
        more = {key_of(key): value for key, value in labels.items()}
        stage.rehearsal.cluster.apply(replace(node, labels={**node.labels, **more}))

    return do


def noted(name: str, by: str = "host") -> Step:
    """Remember the node of a pod, by its host name or another label, for `same` and `other`."""

    def do(stage: Stage) -> None:
        stage.noted[name, by] = stage.node_of(stage.pod(name)).labels[key_of(by)]

    return do


def same(name: str, as_: str, by: str = "host") -> Step:
    """Expect that a pod is on the node that was noted of another one."""

    def check(stage: Stage) -> None:
        assert stage.node_of(stage.pod(name)).labels[key_of(by)] == stage.noted[as_, by]

    return check


def other(name: str, than: str, by: str = "host") -> Step:
    """Expect that a pod is on another node than was noted."""

    def check(stage: Stage) -> None:
        assert stage.node_of(stage.pod(name)).labels[key_of(by)] != stage.noted[than, by]

    return check


def annotated(name: str, key: str, value: str | None) -> Step:
    """Expect that the claim and the node of a pod have an annotation, or lack it (None)."""

    def check(stage: Stage) -> None:
        pod = stage.pod(name)
        assert stage.claim_of(pod).annotations.get(key) == value
        assert stage.node_of(pod).annotations.get(key) == value

    return check


def claim_needs(name: str, *texts: str) -> Step:
    """Expect that the claim of a pod requires just these values of these labels."""

    def check(stage: Stage) -> None:
        there = stage.claim_of(stage.pod(name)).requirements
        for need in needs(*texts):
            one = there[need["key"]]
            wanted = Requirement.of(
                need["key"],
                Operator(need["operator"]),
                need.get("values", ()),
                min_values=need.get("minValues"),
            )
            assert (one, one.min_values) == (wanted, wanted.min_values)

    return check


def min_values(name: str, key: str, count: int | None) -> Step:
    """Expect what minValues the claim of a pod has for a label."""

    def check(stage: Stage) -> None:
        assert stage.claim_of(stage.pod(name)).requirements[key_of(key)].min_values == count

    return check


def claim_requests(name: str, amounts: Mapping[str, str]) -> Step:
    """Expect what the claim of a pod requests, all of it."""

    def check(stage: Stage) -> None:
        assert stage.claim_of(stage.pod(name)).requests == Resources.parse(amounts)

    return check


def grace_of_claim(name: str, hours: int | None) -> Step:
    """Expect what grace period the claim of a pod has."""

    def check(stage: Stage) -> None:
        wanted = None if hours is None else timedelta(hours=hours)
        assert stage.claim_of(stage.pod(name)).termination_grace_period == wanted

    return check


def owned_by_pool(name: str) -> Step:
    """Expect that the claim of a pod is owned by its pool, and blocks that one's deletion."""

    def check(stage: Stage) -> None:
        claim = stage.claim_of(stage.pod(name))
        (pool,) = (pool for pool in stage.rehearsal.cluster.objects(NodePool) if pool.name == claim.pool)
        assert [(o.kind, o.name, o.uid) for o in claim.owners] == [("NodePool", pool.name, pool.uid)]

    return check


def node_class_of_claim(name: str, wanted: str) -> Step:
    """Expect the name of the node class that the claim of a pod refers to."""

    def check(stage: Stage) -> None:
        assert stage.claim_of(stage.pod(name)).node_class.name == wanted

    return check


def claims(count: int) -> Step:
    """Expect that there are so many claims, whether they have nodes yet or not."""

    def check(stage: Stage) -> None:
        assert len(stage.rehearsal.claims()) == count

    return check


def cheapest(**offered: str) -> Step:
    """Expect that the one node costs the least there is, and what EC2 could choose from was as `offered`."""

    def check(stage: Stage) -> None:
        (instance,) = (record.instance for record in stage.rehearsal.ec2.live())
        types = stage.types()
        assert instance.price == min(o.price for one in types.values() for o in one.offerings)
        keys = {key_of(key): value for key, value in offered.items()}
        request = stage.requests[-1]
        for override in request.overrides:
            known = {
                **types[override.instance_type].requirements.labels(),
                ZONE: override.zone,
                CAPACITY_TYPE: request.capacity_type,
            }
            assert {key: known[key] for key in keys} == keys

    return check


def asked_for(*types: str) -> Step:
    """Expect that EC2 could choose from just these instance types, when the last node was bought."""

    def check(stage: Stage) -> None:
        chosen = {override.instance_type for override in stage.requests[-1].overrides}
        assert chosen == set(types)

    return check


def removed(*names: str, but_in: str = "") -> Step:
    """Delete the pods of these names, but those in a zone, and let them go."""

    def do(stage: Stage) -> None:
        for name in names:
            for pod in stage.pods(name):
                if not but_in or stage.node_of(pod).labels[key_of("zone")] != but_in:
                    stage.rehearsal.delete("Pod", pod.name)
        stage.run(2)

    return do


def taints_of(name: str, *wanted: str) -> Step:
    """Expect that the node of a pod has just these taints, written as "key=value:NoSchedule"."""

    def check(stage: Stage) -> None:
        there = stage.node_of(stage.pod(name)).taints
        assert sorted(f"{t.key}={t.value}:{t.effect.value}" for t in there) == sorted(wanted)

    return check


def passes(duration: float | str) -> Step:
    """Let time pass."""

    def do(stage: Stage) -> None:
        stage.run(duration)

    return do


def scaled(name: str, replicas: int, *others: str, kind: str = "Deployment") -> Step:
    """Scale workloads, and let their pods come or go."""

    def do(stage: Stage) -> None:
        for one in (name, *others):
            stage.rehearsal.scale(one, replicas, kind=kind)
        stage.run(2)

    return do


def deleted(kind: str, name: str = "") -> Step:
    """Delete an object, or else the only claim or node, or that of a pod."""

    def do(stage: Stage) -> None:
        stage.rehearsal.delete(kind, _named(stage, kind, name))

    return do


def _named(stage: Stage, kind: str, name: str) -> str:
    if kind == "Pod":
        return stage.pod(name).name
    if kind not in {"Node", "NodeClaim"}:
        return name
    if name:
        pod = stage.pods(name)[0]
        return stage.node_of(pod).name if kind == "Node" else stage.claim_of(pod).name
    (only,) = stage.rehearsal.nodes() if kind == "Node" else stage.rehearsal.claims()
    return only.name


def node_annotated(name: str, key: str, value: str) -> Step:
    """Put an annotation on the node of a pod."""

    def do(stage: Stage) -> None:
        node = stage.node_of(stage.pods(name)[0])
        stage.rehearsal.cluster.apply(replace(node, annotations={**node.annotations, key: value}))

    return do


def ended(**causes: int) -> Step:
    """Expect how many nodes have ended so far, by cause."""

    def check(stage: Stage) -> None:
        over = [record.cause for record in stage.rehearsal.history() if record.terminated_at is not None]
        assert Counter(over) == causes, over

    return check


def first_wave(count: int) -> Step:
    """Expect how many nodes were given up at first, within a second."""

    def check(stage: Stage) -> None:
        given_up = [e for e in stage.rehearsal.timeline.entries if e.event == "DisruptNodes"]
        first = [e for e in given_up if e.at <= given_up[0].at + 1]
        assert sum(len(cast(list[str], e.fields["nodes"])) for e in first) == count

    return check


def most_at_once(count: int) -> Step:
    """Expect that no more nodes than so many were ever on their way out, and that some went."""

    def check(stage: Stage) -> None:
        going: dict[str, None] = {}
        most = 0
        for entry in stage.rehearsal.timeline.entries:
            if entry.event == "DisruptNodes":
                going |= dict.fromkeys(cast(list[str], entry.fields["nodes"]))
            elif entry.event == "InstanceTerminated":
                going.pop(str(entry.fields["node"]), None)
            most = max(most, len(going))
        assert 0 < most <= count, most

    return check


def running(count: int) -> Step:
    """Expect that so many pods run."""

    def check(stage: Stage) -> None:
        assert stage.rehearsal.running() == count, stage.rehearsal.summary()

    return check


def event(reason: str, said: str = "", *, about: str = "", times: int | None = None) -> Step:
    """Expect an event of this reason that says this, about an object of this kind; or just so many."""

    def check(stage: Stage) -> None:
        events = [record.event for record in stage.rehearsal.cluster.events()]
        found = [
            one
            for one in events
            if one.reason == reason and said in one.message and about in {"", one.about.kind}
        ]
        assert len(found) == times if times is not None else found, [(e.reason, e.message) for e in events]

    return check


def condition(
    kind: str, status: str | None, reason: str = "", *, on_: str = "NodePool", of: str = "default"
) -> Step:
    """Expect a condition of a pool or node class, or of every claim; None where there is to be none."""

    def check(stage: Stage) -> None:
        claims = on_ == "NodeClaim"
        names = [claim.name for claim in stage.rehearsal.claims()] if claims else [of]
        assert names
        for name in names:
            shown = condition_of(stage.rehearsal.cluster.conditions(ObjectRef(on_, name)), kind)
            assert (None if shown is None else shown.status.value) == status, shown
            assert not reason or (shown is not None and shown.reason == reason), shown

    return check


def gone(name: str) -> Step:
    """Expect that the node is gone that was noted of a pod."""

    def check(stage: Stage) -> None:
        hosts = [node.labels[key_of("host")] for node in stage.rehearsal.nodes()]
        assert stage.noted[name, "host"] not in hosts, stage.rehearsal.summary()

    return check


def interrupted(count: int = 1) -> Step:
    """Let EC2 announce the end of spot instances, the oldest first."""

    def do(stage: Stage) -> None:
        for record in stage.rehearsal.ec2.live()[:count]:
            stage.rehearsal.ec2.outside.interrupt(record.instance.id)

    return do


def terminated_outside(count: int = 1) -> Step:
    """Terminate instances behind the controller's back, the oldest first."""

    def do(stage: Stage) -> None:
        for record in stage.rehearsal.ec2.live()[:count]:
            stage.rehearsal.ec2.outside.terminate(record.instance.id)

    return do


def stopped() -> Step:
    """Stop the oldest instance behind the controller's back."""

    def do(stage: Stage) -> None:
        stage.rehearsal.ec2.outside.stop(stage.rehearsal.ec2.live()[0].instance.id)

    return do


def impaired(kind: str = "instance_status") -> Step:
    """Let the oldest instance fail a check, or (event_status) plan its retirement."""

    def do(stage: Stage) -> None:
        instance = stage.rehearsal.ec2.live()[0].instance.id
        if kind == "event_status":
            stage.rehearsal.ec2.health.plan(instance, 14 * 86_400)
        else:
            stage.rehearsal.ec2.health.fail(instance, InterruptionKind(kind))

    return do


def sickened(condition: str = READY, status: str = "False", *, count: int = 1) -> Step:
    """Let nodes say this of themselves from now on."""

    def do(stage: Stage) -> None:
        for node in sorted(stage.rehearsal.nodes(), key=lambda one: one.name)[:count]:
            shown = Condition(condition, Status(status), "KubeletNotReady")
            stage.rehearsal.cluster.set_node_condition(node.name, shown)

    return do


def message(body: dict[str, object]) -> Step:
    """Send a message to the interruption queue; "{instance}" in it is the oldest instance."""

    def do(stage: Stage) -> None:
        instance = stage.rehearsal.ec2.live()[0].instance.id
        stage.rehearsal.queue.put(json.dumps(body).replace("{instance}", instance))

    return do


def queue_is_empty() -> Step:
    """Expect that all messages of the interruption queue are deleted."""

    def check(stage: Stage) -> None:
        assert stage.rehearsal.queue.backlog() == ()

    return check


def counted(metric: str, value: float, **labels: str) -> Step:
    """Expect what a counter says."""

    def check(stage: Stage) -> None:
        assert stage.rehearsal.telemetry.counted(metric, **labels) == value

    return check


def labelled_node(key: str, value: str) -> Step:
    """Expect that some node has a label."""

    def check(stage: Stage) -> None:
        assert value in [node.labels.get(key) for node in stage.rehearsal.nodes()]

    return check


def annotated_claim(key: str, *, there: bool) -> Step:
    """Expect that the first claim has an annotation, or that it has not."""

    def check(stage: Stage) -> None:
        assert (key in stage.rehearsal.claims()[0].annotations) is there

    return check


def order_of_ends(*names: str) -> Step:
    """Expect that pods were evicted in this order, each named by what its name begins with."""

    def check(stage: Stage) -> None:
        records = [r for r in stage.rehearsal.cluster.events() if r.event.reason == "Evicted"]
        evicted = [r.event.about.name for r in sorted(records, key=lambda r: r.first_at)]
        assert len(evicted) == len(names), evicted
        assert all(one.startswith(name) for one, name in zip(evicted, names, strict=True)), evicted

    return check


def ending(name: str, count: int) -> Step:
    """Expect that so many pods of a name are being deleted."""

    def check(stage: Stage) -> None:
        assert sum(pod.deleting_since is not None for pod in stage.pods(name)) == count

    return check


def template_has(path: str, wanted: object) -> Step:
    """Expect what the last launch template says at a path such as "Monitoring.Enabled"; None: nothing."""

    def check(stage: Stage) -> None:
        there: Any = stage.template().data
        for step in path.split("."):
            if isinstance(there, list):
                there = there[int(step)] if int(step) < len(there) else None
            elif there is not None:
                there = there.get(step)
        assert there == wanted, stage.template().data

    return check


def boots_with(*fragments: str) -> Step:
    """Expect that the user data of the last node has all of these."""

    def check(stage: Stage) -> None:
        for one in fragments:
            assert one in stage.user_data(), stage.user_data()

    return check


def boots_without(*fragments: str) -> Step:
    """Expect that the user data of the last node has none of these."""

    def check(stage: Stage) -> None:
        for one in fragments:
            assert one not in stage.user_data(), stage.user_data()

    return check


def kubelet_config(key: str, wanted: object) -> Step:
    """Expect what the kubelet of the last node is told, by the NodeConfig in its user data."""

    def check(stage: Stage) -> None:
        (config,) = [
            part
            for part in email.message_from_string(stage.user_data()).walk()
            if part.get_content_type() == "application/node.eks.aws"
        ]
        told = yaml.safe_load(str(config.get_payload()))["spec"]["kubelet"]["config"]
        assert told.get(key) == wanted, told

    return check


def tags_have(**tags: str | None) -> Step:
    """Expect tags of all that the last launch made; None is one that is not there."""

    def check(stage: Stage) -> None:
        there = stage.requests[-1].tags
        assert {key: there.get(key) for key in tags} == tags, there
        for one in stage.template().data["TagSpecifications"]:
            known = {tag["Key"]: tag["Value"] for tag in one["Tags"]}
            assert {key: known.get(key) for key in tags} == tags, known

    return check


def templates(count: int) -> Step:
    """Expect how many launch templates differ of all launches."""

    def check(stage: Stage) -> None:
        assert len({stage.template(request).name for request in stage.requests}) == count

    return check


def run_out(instance_type: str, zone: str, way: str) -> Step:
    """Let EC2 have no more of a type in a zone, spot or on demand."""

    def do(stage: Stage) -> None:
        stage.rehearsal.ec2.outside.run_out(instance_type, zone, way)

    return do


def reserve(name: str, instance_type: str, zone: str, count: int) -> Step:
    """Add a capacity reservation with the tag purpose=test."""

    def do(stage: Stage) -> None:
        stage.rehearsal.ec2.reservations.add(
            ReservedCapacity(
                id=name, instance_type=instance_type, zone=zone, instances=count, tags={"purpose": "test"}
            )
        )

    return do


def reserved_in(name: str, count: int) -> Step:
    """Expect that so many of the pods of a name are on reserved nodes."""

    def check(stage: Stage) -> None:
        ways = [stage.node_of(pod).labels[CAPACITY_TYPE] for pod in stage.pods(name)]
        assert ways.count("reserved") == count, ways

    return check


def subnet(name: str, zone: str, cidr: str) -> Step:
    """Add a subnet, known by its id alone."""

    def do(stage: Stage) -> None:
        stage.rehearsal.ec2.add_subnet(Subnet(id=name, zone=zone, cidr=cidr, tags={}))

    return do


def on_subnet(name: str, subnet_id: str) -> Step:
    """Expect in which subnet the node of a pod is."""

    def check(stage: Stage) -> None:
        assert stage.instance_of(stage.pod(name)).subnet_id == subnet_id

    return check


def used_subnets(*ids: str) -> Step:
    """Expect in which subnets all instances are."""

    def check(stage: Stage) -> None:
        assert {record.instance.subnet_id for record in stage.rehearsal.ec2.live()} == set(ids)

    return check


def tagged(name: str, key: str, wanted: str) -> Step:
    """Expect a tag of the instance of a pod; "node" and "claim" stand for the names of these."""

    def check(stage: Stage) -> None:
        pod = stage.pod(name)
        known = {"node": stage.node_of(pod).name, "claim": stage.claim_of(pod).name}
        assert stage.instance_of(pod).tags.get(key) == known.get(wanted, wanted)

    return check


def instance_without_claim() -> Step:
    """Launch an instance as the last one was, of which no claim knows."""

    def do(stage: Stage) -> None:
        stage.rehearsal.ec2.outside.launch(replace(stage.requests[-1], token="nobody", count=1))  # noqa: S106

    return do


def instances(count: int) -> Step:
    """Expect how many instances live."""

    def check(stage: Stage) -> None:
        assert len(stage.rehearsal.ec2.live()) == count

    return check


def never_joins() -> Step:
    """Let no kubelet of a new machine ever come up."""

    def do(stage: Stage) -> None:
        stage.rehearsal.ec2.faults = EC2Faults(never_joins=1.0)

    return do


def away(seconds: float) -> Step:
    """Let EC2 answer nothing for so long."""

    def do(stage: Stage) -> None:
        stage.rehearsal.ec2_under(Spell.AWAY, seconds)

    return do


def _hash(stage: Stage, name: str) -> str:
    return stage.rehearsal.cluster.annotations(ObjectRef("NodePool", name))[NODEPOOL_HASH]


def hash_noted(name: str = "default") -> Step:
    """Remember the hash that a pool is annotated with."""

    def do(stage: Stage) -> None:
        stage.noted[name, "hash"] = _hash(stage, name)

    return do


def hash_changes(name: str = "default") -> Step:
    """Expect that a pool is annotated with another hash than was noted."""

    def check(stage: Stage) -> None:
        assert _hash(stage, name) != stage.noted[name, "hash"]

    return check


def hash_kept(name: str = "default") -> Step:
    """Expect that a pool is annotated with the hash that was noted."""

    def check(stage: Stage) -> None:
        assert _hash(stage, name) == stage.noted[name, "hash"]

    return check


def usage(count: int, **amounts: str) -> Step:
    """Expect how many nodes the status of the pool counts, and what of some resources these have."""

    def check(stage: Stage) -> None:
        shown = stage.rehearsal.cluster.usage(ObjectRef("NodePool", "default"))
        there = shown or PoolUsage()
        wanted = Resources.parse(amounts)
        assert there.nodes == count
        assert {name: there.resources.get(name, 0) for name in wanted} == dict(wanted)

    return check
