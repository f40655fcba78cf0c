"""Ports of the node: of pods, of those there, and of daemons."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.domain.packing.colocated import (
    A,
    app,
    closed,
    node,
    refused,
    sold,
    solved,
    there,
    together,
    with_terms,
)
from tests.domain.packing.problems import asking, problem
from treenail.domain.model import labels
from treenail.domain.model.pods import HostPort

HTTP = HostPort(80)


def test_a_port_is_had_once_on_a_node() -> None:
    assert [len(members) for members in together(problem(app("web", 3, with_terms(HTTP))))] == [1, 1, 1]


def test_pods_without_the_port_share_the_node() -> None:
    of = problem(app("web", 2, with_terms(HTTP)), app("db", 2, with_terms(HostPort(5432))), app("plain", 4))

    assert len(together(of)) == 2


@pytest.mark.parametrize(
    ("one", "other", "nodes"),
    [
        (HTTP, HTTP, 2),
        (HTTP, HostPort(80, "UDP"), 1),
        (HTTP, HostPort(443), 1),
        (HTTP, HostPort(80, ip="10.0.0.1"), 2),
        (HostPort(80, ip="0.0.0.0"), HostPort(80, ip="10.0.0.1"), 2),  # noqa: S104
        (HostPort(80, ip="::"), HostPort(80, ip="10.0.0.1"), 2),
        (HostPort(80, ip="10.0.0.1"), HostPort(80, ip="10.0.0.1"), 2),
        (HostPort(80, ip="10.0.0.1"), HostPort(80, ip="10.0.0.2"), 1),
        (HostPort(80, "UDP", "10.0.0.1"), HostPort(80, "TCP", "10.0.0.1"), 1),
    ],
)
def test_ports_exclude_each_other_by_number_protocol_and_address(
    one: HostPort, other: HostPort, nodes: int
) -> None:
    of = problem(app("web", 1, with_terms(one)), app("db", 1, with_terms(other)))

    assert len(together(of)) == nodes


def test_pods_of_several_ports_need_all_of_them() -> None:
    both = with_terms(HTTP, HostPort(443))
    web, tls = app("web", 1, with_terms(HTTP)), app("tls", 1, with_terms(HostPort(443)))

    of = problem(app("both", 1, both), web, tls)

    assert together(of) == [["both-0"], ["tls-0", "web-0"]]


def test_namespaces_and_labels_do_not_matter() -> None:
    of = problem(app("web", 1, with_terms(HTTP)), app("db", 1, with_terms(HTTP), namespace="data"))

    assert len(together(of)) == 2


def test_a_port_that_is_taken_on_a_node() -> None:
    existing_nodes = (node("n1", A, there("db", ports=(HTTP,))), node("n2", A))

    assert solved(problem(app("web", 1, with_terms(HTTP)), existing_nodes=existing_nodes)).nominations == {
        "web-0": "n2"
    }


def test_a_pod_that_is_leaving_keeps_its_port() -> None:
    existing_nodes = (node("n1", A, there("db", ports=(HTTP,), leaving=True)),)

    assert refused(problem(app("web", 1, with_terms(HTTP)), existing_nodes=existing_nodes, offers=())) == [
        "web-0"
    ]


def test_a_port_elsewhere_is_not_in_the_way() -> None:
    existing_nodes = (closed(node("n1", A, there("db", ports=(HTTP,)))), node("n2", A))

    assert solved(problem(app("web", 1, with_terms(HTTP)), existing_nodes=existing_nodes)).nominations == {
        "web-0": "n2"
    }


def test_each_node_takes_one_of_them() -> None:
    existing_nodes = (node("n1", A), node("n2", A))

    of = problem(app("web", 3, with_terms(HTTP)), existing_nodes=existing_nodes, offers=())

    assert sorted(solved(of).nominations.values()) == ["n1", "n2"]
    assert len(refused(of)) == 1


def test_a_daemons_port_is_taken_on_the_nodes_where_it_runs() -> None:
    daemon = replace(asking("50m", selector={labels.ARCH: "amd64"}), host_ports=(HTTP,))

    (claim,) = solved(problem(app("web", 1, with_terms(HTTP)), offers=(sold(),), daemons=(daemon,))).claims

    assert claim.instance_types == ("m6g.2xlarge",)


def test_a_daemons_port_at_another_address_is_not_in_the_way() -> None:
    daemon = replace(asking("50m"), host_ports=(HostPort(80, ip="10.0.0.1"),))
    spec = with_terms(HostPort(80, ip="10.0.0.2"))

    assert refused(problem(app("web", 1, spec), daemons=(daemon,))) == []


def test_a_daemon_that_runs_nowhere_takes_no_port() -> None:
    daemon = replace(asking("50m", selector={"rack": "7"}), host_ports=(HTTP,))

    assert refused(problem(app("web", 1, with_terms(HTTP)), daemons=(daemon,))) == []
