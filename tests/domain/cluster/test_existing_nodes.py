from __future__ import annotations

from dataclasses import replace

import pytest

from tests.builders import claim, node, resources, spec
from treenail.domain.cluster.existing_nodes import expected_daemons
from treenail.domain.model import labels
from treenail.domain.model.nodes import NodeView
from treenail.domain.model.pods import Expression, NodeAffinity, PodSpec
from treenail.domain.model.requirements import Operator
from treenail.domain.model.taints import NOT_READY, Effect, Taint, Toleration, TolerationOperator

GPU = Taint("gpu", Effect.NO_SCHEDULE)
BATCH = Taint("batch", Effect.PREFER_NO_SCHEDULE)
ANY = Toleration(operator=TolerationOperator.EXISTS)


def on(*keys: str) -> PodSpec:
    """A daemon for nodes with one of these instance types."""
    terms = tuple((Expression(labels.INSTANCE_TYPE, Operator.IN, (key,)),) for key in keys)
    return replace(spec(), node_affinity=NodeAffinity(required=terms))


def view(*taints: Taint) -> NodeView:
    return NodeView(node=replace(node("n1", labels_={labels.INSTANCE_TYPE: "m5.large"}), taints=taints))


@pytest.mark.parametrize(
    ("there", "daemon", "runs"),
    [
        pytest.param(view(), spec(), True, id="a daemon for all nodes"),
        pytest.param(view(), on("m5.large"), True, id="one whose labels suit"),
        pytest.param(view(), on("p3.2xlarge"), False, id="one whose labels do not"),
        pytest.param(view(), on("p3.2xlarge", "m5.large"), True, id="one of whose alternatives suits"),
        pytest.param(view(GPU), spec(), False, id="one that does not bear the taint"),
        pytest.param(view(GPU), spec(tolerations=(ANY,)), True, id="one that does"),
        pytest.param(view(BATCH), spec(), True, id="a taint that only prefers"),
    ],
)
def test_a_daemon_runs_where_labels_suit_and_taints_are_borne(
    there: NodeView,
    daemon: PodSpec,
    *,
    runs: bool,
) -> None:
    assert expected_daemons(there, (daemon,)) == ((daemon.requests,) if runs else ())


def test_taints_of_a_node_that_starts_keep_no_daemon_away() -> None:
    starting = NodeView(
        claim=claim("c1", provider_id="aws:///a/i-1"), node=replace(node("n1"), taints=(NOT_READY,))
    )

    assert expected_daemons(starting, (spec(),)) == (resources(cpu=1, pods=1),)


def test_each_daemon_takes_its_own_room() -> None:
    assert expected_daemons(view(), (spec(1), on("p3.2xlarge"), spec(2))) == (
        resources(cpu=1, pods=1),
        resources(cpu=2, pods=1),
    )
