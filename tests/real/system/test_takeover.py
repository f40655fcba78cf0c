"""A cluster that Karpenter's KWOK build runs is taken over, and given back: nobody in it notices."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Final

import pytest

from tests.bench.real.contest import CRDS
from tests.bench.real.contestants import karpenter
from tests.real.kubernetes.stored_versions import converted, definition_of, killed_after, of_before
from tests.real.parts.binaries import NotBuiltError, require
from tests.real.parts.control_plane import PARTS, ControlPlane
from tests.real.parts.loopback import free_ports
from tests.real.parts.objects import MERGE, says
from tests.real.system.beta_estate import OLD_CLAIMS, OLD_POOLS, beta_node, beta_pool, stored_in
from tests.real.system.controller import eventually
from tests.real.system.taking_over import (
    CLAIMS,
    CLASSES,
    DEPLOYMENTS,
    KWOK_CLASS,
    NODES,
    PATIENCE,
    PODS_A_NODE,
    POOLS,
    Standing,
    adopted,
    await_served,
    churn,
    holder,
    install,
    items,
    karpenter_runs,
    made,
    pods_placed,
    pool,
    scale,
    stamped,
    takeover,
    treenail_runs,
    workload,
)
from treenail.adapters.kubernetes.resources import NODE_CLAIM, NODE_POOL
from treenail.domain.model.template_hash import HASH_VERSION

# So many pools more, that a conversion is long enough to be ended in its middle.
BESIDE: Final = 100


@dataclass(frozen=True, slots=True)
class Size:
    """How large the cluster is, and for how long (s) each of the two runs it with churn."""

    nodes: int
    seconds: float


@pytest.fixture
def size(request: pytest.FixtureRequest) -> Size:
    return Size(50, 600.0) if request.config.getoption("--soak") else Size(5, 10.0)


@pytest.fixture
def plane() -> Iterator[ControlPlane]:
    """A control plane of its own, with the definitions of Karpenter's KWOK build and no others."""
    _need_the_peer()
    with ControlPlane() as plane:
        install(plane, karpenter().crds)
        await_served(plane, CLAIMS, POOLS, CLASSES)
        yield plane


def _need_the_peer() -> None:
    try:
        require(*PARTS, "karpenter-kwok")
    except NotBuiltError:
        pytest.skip("the peer is not built, as it is not by default: `tests/real/parts/build all` builds it")


@pytest.fixture
def beta_plane() -> Iterator[ControlPlane]:
    """A control plane whose definitions of NodePools and NodeClaims have v1beta1 alone."""
    _need_the_peer()
    with ControlPlane() as plane:
        install(plane, karpenter().crds, only="karpenter.kwok.sh")
        for resource in (NODE_POOL, NODE_CLAIM):
            made(plane, CRDS, of_before(resource))
        await_served(plane, OLD_CLAIMS, OLD_POOLS, CLASSES)
        yield plane


def test_treenail_takes_karpenters_cluster_and_karpenter_takes_it_back(
    plane: ControlPlane, size: Size
) -> None:
    made(plane, CLASSES, {**KWOK_CLASS})
    made(plane, POOLS, pool())
    made(plane, DEPLOYMENTS, workload("inflate", size.nodes * PODS_A_NODE))
    made(plane, DEPLOYMENTS, workload("churn", 0))
    with ExitStack() as stack:
        theirs = stack.enter_context(karpenter_runs(plane))
        eventually(
            lambda: (
                len(items(plane, CLAIMS)) == size.nodes
                and all(says(one, "Initialized") for one in items(plane, CLAIMS))
                and len(pods_placed(plane)) == size.nodes * PODS_A_NODE
            ),
            lambda: theirs.last_lines("karpenter"),
            within=PATIENCE,
        )
        standing, leader = Standing(plane), holder(plane)
        findings = takeover(plane, "check")
        assert len(adopted(findings, "NodeClaim")) == len(adopted(findings, "Node")) == size.nodes

        # Started beside Karpenter it waits for the lease.
        ours = stack.enter_context(treenail_runs(plane))
        assert holder(plane) == leader
        assert stamped(plane, "v3")
        theirs.stop("karpenter", grace=15)
        eventually(lambda: stamped(plane, HASH_VERSION), ours.last_lines, within=PATIENCE)
        churn(plane, standing, size.seconds)
        # Some that Karpenter finds were not its own.
        scale(plane, 2 * PODS_A_NODE)
        both = Standing(plane)
        assert len(adopted(takeover(plane, "back"), "NodeClaim")) == size.nodes + 2

        theirs = stack.enter_context(karpenter_runs(plane))
        assert stamped(plane, HASH_VERSION)
        ours.stop()
        eventually(lambda: stamped(plane, "v3"), lambda: theirs.last_lines("karpenter"), within=PATIENCE)
        until = time.monotonic() + size.seconds
        while time.monotonic() < until:
            both.holds()
            time.sleep(0.5)
        churn(plane, standing, 0.0)
    assert {one["metadata"]["uid"] for one in items(plane, NODES)} == standing.nodes


def test_what_is_stored_in_v1beta1_is_taken_over_and_converted_on_the_users_word_alone(
    beta_plane: ControlPlane, size: Size
) -> None:
    plane = beta_plane
    made(plane, CLASSES, {**KWOK_CLASS})
    for name in ("default", *(f"beside-{n}" for n in range(BESIDE))):
        made(plane, OLD_POOLS, beta_pool(name))
    for number in range(size.nodes):
        beta_node(plane, f"default-{number}")
    made(plane, DEPLOYMENTS, workload("inflate", size.nodes * PODS_A_NODE))
    made(plane, DEPLOYMENTS, workload("churn", 0))
    eventually(
        lambda: len(pods_placed(plane)) == size.nodes * PODS_A_NODE,
        "the pods are not placed",
        within=PATIENCE,
    )
    pools = {one["metadata"]["name"]: one["spec"] for one in items(plane, OLD_POOLS)}
    for resource in (NODE_POOL, NODE_CLAIM):
        assert plane.request("PATCH", f"{CRDS}/{resource}", definition_of(resource), MERGE)[0] == 200

    (port,) = free_ports(1)
    webhook = {
        "DISABLE_WEBHOOK": "false",
        "WEBHOOK_PORT": str(port),
        "WEBHOOK_URL": f"https://127.0.0.1:{port}",
        "SYSTEM_NAMESPACE": "kube-system",
    }
    with ExitStack() as stack:
        ours = stack.enter_context(treenail_runs(plane, **webhook))
        standing = Standing(plane)
        assert len(standing.claims) == len(standing.nodes) == size.nodes
        eventually(lambda: stamped(plane, HASH_VERSION), ours.last_lines, within=PATIENCE)
        churn(plane, standing, size.seconds)
        for version in ("v1beta1", "v1"):
            killed_after(plane, lambda done: 0 < done < BESIDE, version)
            standing.holds()
            ran = converted(plane, version)
            assert ran.returncode == 0, ran
            assert stored_in(plane) == {f"karpenter.sh/{version}"}
            assert {o["metadata"]["name"]: o["spec"] for o in items(plane, OLD_POOLS)} == pools
        churn(plane, standing, 0.0)
        ours.stop()

        install(plane, karpenter().crds, over=True)
        theirs = stack.enter_context(karpenter_runs(plane))
        eventually(lambda: stamped(plane, "v3"), lambda: theirs.last_lines("karpenter"), within=PATIENCE)
        churn(plane, standing, 0.0)
