"""What goes wrong while nodes are planned costs cheaper nodes, and no pod its place."""

from __future__ import annotations

from dataclasses import replace
from typing import Never

import pytest

from tests.domain.packing.problems import asking, first_fit, offer, pods, pool, problem
from tests.domain.packing.validity import faults
from treenail.domain.model.pods import HostPort
from treenail.domain.model.resources import Resources
from treenail.domain.packing.nodes import node_planner
from treenail.domain.packing.nodes.type_choice import Sizing
from treenail.domain.packing.pack import pack
from treenail.domain.packing.problem import Problem

LIMITED = replace(
    offer(replace(pool(), limits=Resources.parse({"cpu": 640}))), limits_left=Resources.parse({"cpu": 640})
)


def mixed(**more: object) -> Problem:
    sizes = [(cpu, gib) for cpu in ("100m", "500m", "1500m") for gib in (1, 3, 7)]
    pod_groups = [pods(f"{cpu}-{gib}", 12, asking(cpu, f"{gib}Gi")) for cpu, gib in sizes]
    return problem(*pod_groups, **more)  # type: ignore[arg-type]


@pytest.fixture
def no_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*_: object) -> Never:
        raise ValueError("no size will do")

    monkeypatch.setattr(Sizing, "planned_nodes", failing)


@pytest.mark.usefixtures("no_sizes")
@pytest.mark.parametrize("of", [mixed(), mixed(offers=(LIMITED,))], ids=["free", "limited"])
def test_where_cheaper_nodes_cannot_be_looked_for_those_of_first_fit_stay(of: Problem) -> None:
    plan = pack(of)

    assert plan.problems == ("cheaper nodes were not found: ValueError: no size will do",)
    assert plan.claims == pack(first_fit(of)).claims
    assert faults(of, replace(plan, problems=())) == []


@pytest.mark.usefixtures("no_sizes")
def test_where_there_is_no_plan_to_fall_back_to_one_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node_planner, "_MANY_POD_GROUPS", 2)
    of = mixed()
    kept_apart = problem(pods("apart", 3, replace(asking(), host_ports=(HostPort(80),))))

    plan = pack(replace(of, pods=(*of.pods, *kept_apart.pods)))

    assert plan.refused == ()
    assert len({uid for claim in plan.claims for uid in claim.pods}) == len(of.pods) + 3
    assert plan.problems
