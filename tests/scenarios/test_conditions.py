"""Which conditions stand on which objects, from the first pod to the last node, as Karpenter has them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tests.scenarios.manifests import deployment, node_class, node_pool, text
from treenail.adapters.embed.rehearsal import Rehearsal
from treenail.domain.model.events import ObjectRef
from treenail.domain.model.nodes import Condition, NodeClaim
from treenail.domain.model.patches import ClaimPatch

POOL = ObjectRef("NodePool", "default")
CLASS = ObjectRef("EC2NodeClass", "default")


def written(conditions: Iterable[Condition]) -> dict[str, tuple[str, str]]:
    """Return status and reason by type."""
    return {c.type: (c.status.value, c.reason) for c in conditions}


def true(*kinds: str) -> dict[str, tuple[str, str]]:
    """Conditions that hold; their reason is their type."""
    return {kind: ("True", kind) for kind in kinds}


def watch(rehearsal: Rehearsal) -> dict[str, list[dict[str, tuple[str, str]]]]:
    """Return, by claim, what it says after each write that changes that."""
    seen: dict[str, list[dict[str, tuple[str, str]]]] = {}
    write = rehearsal.cluster.patch_claim

    def noting(name: str, patch: ClaimPatch, *, version: int | None = None) -> NodeClaim:
        claim = write(name, patch, version=version)
        said = written(claim.conditions)
        if said and (name not in seen or seen[name][-1] != said):
            seen.setdefault(name, []).append(said)
        return claim

    rehearsal.cluster.patch_claim = noting  # type: ignore[method-assign]
    return seen


def pool(labels: dict[str, str] | None = None) -> dict[str, Any]:
    made = node_pool(labels=labels)
    made["spec"]["disruption"]["budgets"] = [{"nodes": "1"}]
    return made


def test_every_condition_from_the_first_pod_to_the_end_of_a_drifted_node() -> None:
    with Rehearsal(seed=1) as rehearsal:
        seen = watch(rehearsal)
        rehearsal.apply(text(node_class(), pool(), deployment(replicas=1)))
        rehearsal.run("3m")
        (claim,) = rehearsal.claims()
        life = seen[claim.name]
        missing = ("Unknown", "NodeNotFound")
        assert life[0] == {
            **true("Launched"),
            "Registered": missing,
            "Initialized": missing,
            "Ready": ("Unknown", "ReconcilingDependents"),
        }
        assert life[1]["Registered"] == ("True", "Registered")
        assert life[1]["Initialized"][0] == "Unknown"
        in_use = true(
            "Launched", "Registered", "Initialized", "Ready", "ConsistentStateFound", "Consolidatable"
        )
        assert life[-1] == in_use

        rehearsal.apply(text(pool(labels={"generation": "two"})))
        rehearsal.run("12m")

        drifted = {"Drifted": ("True", "NodePoolDrifted"), "DisruptionReason": ("True", "Drifted")}
        ended = true("Drained", "VolumesDetached", "InstanceTerminating")
        assert life[-1] == {**in_use, **drifted, **ended}
        assert written(rehearsal.cluster.conditions(POOL)) == true(
            "ValidationSucceeded", "NodeClassReady", "Ready", "NodeRegistrationHealthy"
        )
        of_class = written(rehearsal.cluster.conditions(CLASS))
        parts = ("AMIsReady", "SubnetsReady", "SecurityGroupsReady", "InstanceProfileReady")
        assert of_class.items() >= true(*parts, "ValidationSucceeded", "Ready").items()
