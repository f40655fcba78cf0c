"""What claims, nodes, pools and events are expected to say."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta

import pytest

from tests.conformance.objects import key_of, needs
from tests.conformance.stage import Stage, Step
from tests.scenarios.manifests import Manifest
from treenail.adapters.api.errors import ManifestError
from treenail.domain.model.events import ObjectRef
from treenail.domain.model.node_pools import NodePool
from treenail.domain.model.nodes import condition_of
from treenail.domain.model.requirements import Operator, Requirement
from treenail.domain.model.resources import Resources
from treenail.domain.model.template_hash import NODEPOOL_HASH
from treenail.domain.status.pool_usage import PoolUsage


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


def taints_of(name: str, *wanted: str) -> Step:
    """Expect that the node of a pod has just these taints, written as "key=value:NoSchedule"."""

    def check(stage: Stage) -> None:
        there = stage.node_of(stage.pod(name)).taints
        assert sorted(f"{t.key}={t.value}:{t.effect.value}" for t in there) == sorted(wanted)

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


def taken(manifest: Manifest) -> Step:
    """Expect that a manifest is applied."""

    def check(stage: Stage) -> None:
        stage.apply(manifest)

    return check


def rejected(manifest: Manifest, field: str) -> Step:
    """Expect that a manifest is refused, because of this field or one below it."""

    def check(stage: Stage) -> None:
        with pytest.raises(ManifestError) as error:
            stage.apply(manifest)
        assert error.value.field.startswith(field), str(error.value)

    return check
