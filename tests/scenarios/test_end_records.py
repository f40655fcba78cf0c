"""Why a node ended: on its claim, in an event, in the log and in the trace."""

from __future__ import annotations

import json
from typing import Any

from tests.scenarios.manifests import deployment, node_class, node_pool, text
from tests.scenarios.watching import pods_by_node
from treenail.adapters.embed.rehearsal import Rehearsal
from treenail.domain.model import labels
from treenail.domain.model.nodes import NodeClaim


def watched(rehearsal: Rehearsal) -> dict[str, dict[str, Any]]:
    """Return what the claims say of their ends, by name, from now on."""
    said: dict[str, dict[str, Any]] = {}

    def note(change: Any) -> None:
        claim = change.after
        if isinstance(claim, NodeClaim) and labels.END in claim.annotations:
            said[claim.name] = json.loads(claim.annotations[labels.END])

    rehearsal.cluster.on_change(note)
    return said


def expect_told_alike(rehearsal: Rehearsal, name: str, trace_id: str) -> dict[str, Any]:
    """Check that event, log and trace tell the same of a claim's end; return what that is."""
    (logged,) = (
        line.fields
        for line in rehearsal.telemetry.logs
        if line.message == "deleted node" and line.fields["nodeclaim"] == name
    )
    (terminate,) = (
        span
        for span in rehearsal.telemetry.spans_of(trace_id)
        if span.name == "terminate" and span.attributes["treenail.nodeclaim.name"] == name
    )
    (ended,) = (
        record.event.message
        for record in rehearsal.cluster.events()
        if record.event.reason == "Ended" and record.event.about.name == name
    )
    told = {key: logged[key] for key in ("actor", "method", "reason", "price_before", "price_after")}
    for key, value in told.items():
        assert terminate.attributes[f"treenail.end.{key}"] == value
    assert terminate.attributes["treenail.cause"] == logged["cause"]
    assert f"{logged['cause']} ({told['reason']})" in ended
    assert trace_id in ended
    return told


def test_the_end_of_a_drifted_node_is_explained_everywhere() -> None:
    with Rehearsal(seed=1) as rehearsal:
        rehearsal.apply(text(node_class(), node_pool(), deployment(replicas=1)))
        rehearsal.run("3m")
        (claim,) = rehearsal.claims()
        said = watched(rehearsal)

        rehearsal.apply(text(node_pool(labels={"generation": "two"})))
        rehearsal.run("10m")

        told = expect_told_alike(rehearsal, claim.name, said[claim.name]["trace_id"])
        old, new = rehearsal.history()
        assert told == {
            "actor": "Disruptor",
            "method": "drift",
            "reason": "NodePoolDrifted",
            "price_before": round(old.price, 6),
            "price_after": round(new.price, 6),
        }
        assert {**told, "cause": "drifted"}.items() <= said[claim.name].items()


def test_a_node_that_somebody_deletes_says_so_before_it_is_gone() -> None:
    with Rehearsal(seed=1) as rehearsal:
        rehearsal.apply(text(node_class(), node_pool(), deployment(replicas=1)))
        rehearsal.run("3m")
        (claim,), (node,) = rehearsal.claims(), pods_by_node(rehearsal)
        said = watched(rehearsal)

        rehearsal.delete("Node", node)
        rehearsal.run("5m")

        assert (said[claim.name]["cause"], said[claim.name]["method"]) == ("deleted", "deletion")


def test_a_claim_that_ec2_has_no_capacity_for_says_so_before_it_is_gone() -> None:
    with Rehearsal(seed=1) as rehearsal:
        said = watched(rehearsal)
        rehearsal.run_out("*", "*")
        rehearsal.apply(text(node_class(), node_pool(), deployment(replicas=1)))
        rehearsal.run("1m")

        assert said
        assert {(one["cause"], one["actor"]) for one in said.values()} == {
            ("insufficient_capacity", "FleetLauncher")
        }
        assert all("InsufficientInstanceCapacity" in one["reason"] for one in said.values())
