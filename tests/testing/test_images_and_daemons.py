"""Conditions of a rehearsal that decide on which image nodes run, and what runs on every node."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.scenarios.manifests import changed, deployment, node_class, node_pool, text
from treenail.adapters.embed.actions import parse_action
from treenail.testing import (
    EKS_DAEMONS,
    ClusterSettings,
    Conditions,
    DaemonSet,
    Rehearsal,
    record,
    replay,
    timeline_text,
)

POOL = changed(node_pool(), "spec.disruption.budgets", [{"nodes": "100%"}])
WORLD = text(node_class(), POOL, deployment("web", 3))


def daemons(rehearsal: Rehearsal) -> list[str]:
    return sorted(one.name for one in rehearsal.cluster.objects(DaemonSet))


def test_quicker_nodes_have_the_daemon_sets_of_an_eks_cluster_too() -> None:
    with (
        Rehearsal() as usual,
        Rehearsal(conditions=Conditions(cluster=ClusterSettings(ready=(1.0, 2.0)))) as quick,
        Rehearsal(conditions=Conditions(cluster=ClusterSettings(system_daemons=()))) as bare,
    ):
        assert daemons(usual) == daemons(quick) == sorted(one.name for one in EKS_DAEMONS)
        assert daemons(bare) == []


def test_a_newer_image_of_the_alias_replaces_the_nodes_and_is_recorded(tmp_path: Path) -> None:
    with Rehearsal(seed=1) as rehearsal:
        rehearsal.apply(WORLD)
        rehearsal.run_until(lambda: rehearsal.running() == 3)
        before = {claim.image_id for claim in rehearsal.claims()}

        rehearsal.publish_image("al2023")
        rehearsal.run_until(lambda: "drifted" in [node.cause for node in rehearsal.history()], within="1h")
        rehearsal.run_until(lambda: rehearsal.running() == 3)

        assert before.isdisjoint(claim.image_id for claim in rehearsal.claims())
        record(rehearsal, tmp_path / "drift.json")
        again = replay(tmp_path / "drift.json")
        again.check()
        assert '"alias":"al2023@latest"' in timeline_text(again.rehearsal)


def test_a_newer_image_can_come_at_a_time_of_a_rehearsal_on_the_command_line() -> None:
    with Rehearsal() as rehearsal:
        parse_action("5m", "ami-published=bottlerocket@latest").do(rehearsal)

        assert rehearsal.timeline.entries[-1].fields == {"alias": "bottlerocket@latest"}


@pytest.mark.parametrize(
    ("alias", "why"),
    [
        ("al2032", "there are no images al2032; did you mean al2023"),
        ("custom", "there are no images custom: there are al2, al2023, bottlerocket, ubuntu, windows2019"),
        ("al2023@v20260101", "al2023@v20260101 is one version, which stays what it is: write al2023@latest"),
    ],
)
def test_an_image_that_nobody_publishes_is_refused(alias: str, why: str) -> None:
    with Rehearsal() as rehearsal, pytest.raises(ValueError, match=why):
        rehearsal.publish_image(alias)
