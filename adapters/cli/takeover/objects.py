"""Objects of Karpenter's kinds: which are adopted as they are, and which are not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from treenail.adapters.api.decoded import Decoded
from treenail.adapters.api.manifests import decode_all
from treenail.adapters.cli.takeover.estate import Estate
from treenail.adapters.cli.takeover.findings import Finding, Verdict
from treenail.domain.disruption.drift import Standard
from treenail.domain.launch.launching import LaunchMark
from treenail.domain.lifecycle.tagging import CLUSTER_TAGGED
from treenail.domain.model import labels
from treenail.domain.model.fleets import CLUSTER_TAG
from treenail.domain.model.nodes import Node, NodeClaim
from treenail.domain.model.not_acted_on import not_followed
from treenail.domain.model.template_hash import HASH_VERSION, NODE_CLASS_HASH, NODEPOOL_HASH, version_of

_POOLS: Final = "pools and node classes"
_NODES: Final = "claims and nodes"


def objects(estate: Estate) -> Iterator[Finding]:
    """Yield what becomes of each pool, node class, claim and node."""
    there = decode_all(estate.decodable, lenient=True)
    warned: dict[str, list[str]] = {}
    for line in there.warnings:
        _, about, path, _ = line.split(": ", 3)
        warned.setdefault(about, []).append(path)
    for error in there.set_aside:
        about = error.object or error.file
        section = _NODES if about.partition(" ")[0] in ("Node", "NodeClaim", "Machine") else _POOLS
        yield Finding(section, about, Verdict.NOT_UNDERSTOOD, f"{error.field}: {error.problem}".strip(": "))
    yield from _pools(there, warned)
    for one in there.capacity_buffers:
        gated = "is followed where the feature gate CapacityBuffer is on"
        yield Finding(_POOLS, f"CapacityBuffer {one.name}", Verdict.ADOPTED, gated)
    yield from _claims(there)
    yield from _nodes(there)


def _pools(there: Decoded, warned: Mapping[str, list[str]]) -> Iterator[Finding]:
    names = [f"{one.ref.kind} {one.ref.name}" for one in there.node_classes if not one.ref.inline]
    names += [f"{one.generation.pool_kind} {one.name}" for one in there.node_pools]
    for about in names:
        unfollowed = warned.get(about)
        why = not_followed(unfollowed or ())
        yield Finding(_POOLS, about, Verdict.NOT_SUPPORTED if unfollowed else Verdict.ADOPTED, why)


def _claims(there: Decoded) -> Iterator[Finding]:
    pools = {pool.name: pool for pool in there.node_pools}
    classes = {one.ref: one for one in there.node_classes}
    for claim in there.node_claims:
        pool = pools.get(claim.pool)
        standard = Standard(pool, classes.get(pool.node_class)) if pool is not None else None
        yield Finding(_NODES, f"{claim.generation.claim_kind} {claim.name}", *_of_claim(claim, standard))


def _of_claim(claim: NodeClaim, standard: Standard | None) -> tuple[Verdict, str]:
    if claim.deleting_since is not None:
        return Verdict.TO_DO, "is being deleted: its end is gone on with"
    if standard is None and claim.pool:
        return Verdict.LEFT_ALONE, f"its pool {claim.pool!r} is not there"
    if standard is not None and standard.pool.static:
        why = "its pool has replicas: it is looked after with FEATURE_GATES=StaticCapacity=true alone"
        return Verdict.LEFT_ALONE, why
    if not claim.launched and LaunchMark.of(claim) is None:
        return Verdict.FIRST, "has no instance yet: wait until Karpenter has launched it"
    # What it takes to know that images or subnets changed is not asked of AWS here.
    reason = (standard.drift(claim) if standard is not None else None) or claim.drift
    if reason is not None and standard is not None:
        return Verdict.DRIFTS, f"{reason}: it is replaced, as by Karpenter"
    of_ec2 = claim.node_class.kind == "EC2NodeClass"
    if of_ec2 and LaunchMark.of(claim) is None and CLUSTER_TAGGED not in claim.annotations:
        tag = f"aws ec2 create-tags --resources {claim.instance_id} --tags Key={CLUSTER_TAG},Value=CLUSTER"
        return Verdict.TO_DO, f"was launched before Karpenter 1.0, without the tag that it is found by: {tag}"
    return Verdict.ADOPTED, _hashes(claim)


def _hashes(claim: NodeClaim) -> str:
    versions = {claim.annotations.get(version_of(key)) for key in (NODEPOOL_HASH, NODE_CLASS_HASH)}
    theirs = sorted(one for one in versions if one and one != HASH_VERSION)
    return f"hashes of version {', '.join(theirs)} are not compared, but noted anew" if theirs else ""


def _nodes(there: Decoded) -> Iterator[Finding]:
    claims = {claim.provider_id: claim for claim in there.node_claims if claim.provider_id}
    for node in there.nodes:
        if node.provider_id in claims:
            yield Finding(_NODES, f"Node {node.name}", *_of_node(node))
        elif labels.NODEPOOL in node.labels or labels.PROVISIONER in node.labels:
            yield Finding(_NODES, f"Node {node.name}", Verdict.LEFT_ALONE, "no claim stands for it")


def _of_node(node: Node) -> tuple[Verdict, str]:
    if node.deleting_since is not None:
        return Verdict.TO_DO, "is being deleted: its end is gone on with"
    if labels.TERMINATION_FINALIZER not in node.finalizers:
        return Verdict.ADOPTED, "has no finalizer of Karpenter's yet: it is given one"
    return Verdict.ADOPTED, ""
