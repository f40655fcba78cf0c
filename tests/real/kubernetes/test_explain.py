"""`treenail explain` against a real API server."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.adapters.cli.command import Ran, treenail
from tests.adapters.fake.cluster.builders import a_claim, a_class, a_node, a_pool
from tests.contracts.cluster.subject import running, the_pod, unbound
from tests.real.kubernetes.subject import RealSubject
from tests.real.parts.control_plane import ControlPlane
from treenail.domain.model import labels
from treenail.domain.model.claims import DECISION
from treenail.domain.model.event_subjects import of_claim, of_pod
from treenail.domain.model.events import ClusterEvent
from treenail.domain.model.patches import ClaimPatch

PROVIDER = "aws:///us-east-1a/i-00000000000000001"
TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"


@pytest.fixture
def subject(server: ControlPlane) -> Iterator[RealSubject]:
    """A cluster with a node that is in use, and a pod on it."""
    subject = RealSubject(server)
    node = a_node("n-0", provider_id=PROVIDER)
    subject.apply(a_class("default"), a_pool("default"), node, running("web"), unbound("late"))
    origin = {DECISION: "d1", labels.TRACEPARENT: f"00-{TRACE}-00f067aa0ba902b7-01", labels.PRICE: "0.034000"}
    subject.writer.create_claim(a_claim("c-0"))
    where = {
        labels.NODEPOOL: "default",
        labels.INSTANCE_TYPE: "c5.large",
        labels.ZONE: "us-east-1a",
        labels.CAPACITY_TYPE: "spot",
    }
    subject.writer.patch_claim(
        "c-0", ClaimPatch(annotations=origin, labels=where, provider_id=PROVIDER, node_name="n-0")
    )
    yield subject
    subject.close()


def explained(server: ControlPlane, *arguments: str) -> Ran:
    return treenail("explain", *arguments, "--kubeconfig", str(server.kubeconfig))


def said(ran: Ran) -> list[str]:
    """Return what a command says on stderr, beside which cluster it talks to."""
    return [line for line in ran.err.splitlines() if not line.startswith("treenail: context ")]


def told(server: ControlPlane, *arguments: str) -> tuple[list[str], list[dict[str, Any]]]:
    """Return the statements and the events about something."""
    ran = explained(server, *arguments, "-o", "json")
    assert ran.code == 0, ran.err
    report = json.loads(ran.out)
    return [one["says"] for one in report["statements"]], report["events"]


def test_a_pod_is_explained_with_what_was_told_of_it(server: ControlPlane, subject: RealSubject) -> None:
    subject.writer.publish(ClusterEvent(of_pod(the_pod(subject, "web")), "Nominated", "Pod should schedule"))

    statements, events = told(server, "pod", "default/web")

    assert statements[0] == "It is on node n-0: c5.large in us-east-1a, spot, $0.034/h."
    assert f"decision d1, trace {TRACE}" in statements[2]
    assert [(one["reason"], one["message"]) for one in events] == [("Nominated", "Pod should schedule")]


@pytest.mark.parametrize("name", ["n-0", "c-0"])
@pytest.mark.usefixtures("subject")
def test_a_node_is_found_by_its_name_and_by_that_of_its_claim(server: ControlPlane, name: str) -> None:
    statements, _ = told(server, "node", name)

    assert statements[0].startswith("It is NodeClaim c-0 of NodePool default, node n-0: c5.large")


def test_of_what_is_gone_the_events_tell(server: ControlPlane, subject: RealSubject) -> None:
    claim = subject.writer.create_claim(a_claim("c-1"))
    subject.writer.publish(ClusterEvent(of_claim(claim), "Ended", "Ended: drifted (SubnetDrift)"))
    subject.writer.delete_claim("c-1", uid=claim.uid)

    ran = explained(server, "node", "c-1")

    assert (ran.code, said(ran)) == (0, [])
    first, gone, heading, ended = ran.out.splitlines()
    assert (first, gone.strip(), heading) == ("Node c-1", "It is not there any more.", "Events")
    assert ended.endswith("NodeClaim Ended: Ended: drifted (SubnetDrift)")


@pytest.mark.usefixtures("subject")
def test_a_pod_that_waits_is_explained_for_people(server: ControlPlane) -> None:
    ran = explained(server, "pod", "late")

    assert ran.out.splitlines() == [
        "Pod default/late",
        "  The scheduler has not said that no node there is has room for it.",
    ]


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("pod", "default/nobody"), "Pod default/nobody: is not there, and no event tells of it"),
        (("pod", "a/b/c"), "Pod 'a/b/c': write NAMESPACE/NAME"),
        (("node", "nobody"), "Node nobody: is not there, and no event tells of it"),
    ],
)
@pytest.mark.usefixtures("subject")
def test_what_never_was_is_bad_input(server: ControlPlane, arguments: tuple[str, ...], problem: str) -> None:
    ran = explained(server, *arguments)

    assert (ran.code, said(ran)) == (2, [f"treenail: {problem}"])


def test_who_may_see_nothing_is_told_what_they_may_not_list(server: ControlPlane, tmp_path: Path) -> None:
    accounts = "/api/v1/namespaces/default/serviceaccounts"
    server.request("POST", accounts, {"metadata": {"name": "nobody"}})
    code, answer = server.request("POST", f"{accounts}/nobody/token", {"spec": {}})
    assert code == 201, answer
    config = json.loads(server.kubeconfig.read_text())
    config["users"][0]["user"]["token"] = answer["status"]["token"]
    of_nobody = tmp_path / "kubeconfig"
    of_nobody.write_text(json.dumps(config))

    ran = treenail("explain", "node", "n-0", "--kubeconfig", str(of_nobody))

    assert (ran.code, ran.out, len(said(ran))) == (2, "", 1)
    who = 'User "system:serviceaccount:default:nobody"'
    for plural, group in (("nodes", ""), ("nodepools", "karpenter.sh")):
        what = f'cannot list resource "{plural}" in API group "{group}" at the cluster scope (403)'
        assert f" is forbidden: {who} {what}" in ran.err
