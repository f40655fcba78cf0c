from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import START, claim, decision, node_pool, planned_claim, resources
from treenail.domain.model import labels
from treenail.domain.model.claims import counted_capacity, promised_pods, read_amounts, write_amounts
from treenail.domain.model.node_pools import Generation, NodePool
from treenail.domain.model.nodes import NodeClaim
from treenail.domain.model.requirements import Requirement, Requirements
from treenail.domain.model.resources import NOTHING, Resources
from treenail.domain.model.taints import Effect, Taint
from treenail.domain.packing.plan import PlannedClaim
from treenail.domain.scheduling.new_claims import claim_for, claim_name
from treenail.domain.telemetry.tracing import SpanContext

TEAM = Taint("team", Effect.NO_SCHEDULE, "web")
BOOT = Taint("boot", Effect.NO_SCHEDULE)


def made(planned: PlannedClaim, *, pool: NodePool | None = None, index: int = 0) -> NodeClaim:
    return claim_for(
        planned, planned.pods, pool=pool or node_pool(), decision=decision(), index=index, now=START
    )


def wanting(**values: tuple[str, ...]) -> PlannedClaim:
    """A planned claim whose labels must have one of the values given."""
    wanted = Requirements(Requirement(key, frozenset(values)) for key, values in values.items())
    return replace(planned_claim("p1"), requirements=wanted)


def test_a_claim_is_named_after_its_decision_so_that_writing_it_again_meets_itself() -> None:
    assert made(planned_claim("p1"), index=3).name == claim_name("default", "d1", 3) == "default-d1-3"


@pytest.mark.parametrize(("left", "said"), [(2, "false"), (1, "true"), (None, "true")])
def test_a_claim_says_whether_it_leaves_less_choice_than_its_pool_asks_for(
    left: int | None, said: str
) -> None:
    any_type = Requirement(labels.INSTANCE_TYPE, complement=True)
    pool = replace(node_pool(), requirements=Requirements((replace(any_type, min_values=2),)))
    planned = replace(planned_claim("p1"), requirements=Requirements((replace(any_type, min_values=left),)))

    assert made(planned, pool=pool).annotations[labels.MIN_VALUES_RELAXED] == said
    assert labels.MIN_VALUES_RELAXED not in made(planned_claim("p1")).annotations


@pytest.mark.parametrize(
    "key", ["karpenter.sh/provisioner-name", "karpenter.sh/initialized", "karpenter.k8s.aws/future"]
)
def test_a_claim_does_not_say_that_its_node_lacks_labels_that_are_restricted(key: str) -> None:
    lacking = Requirements((Requirement(key), Requirement("team", frozenset("a"), complement=True)))
    planned = planned_claim("p1")
    wanted = planned.requirements.with_(lacking)

    claim_made = made(replace(planned, requirements=wanted))

    assert key not in claim_made.requirements
    assert "team" in claim_made.requirements


def test_a_claim_says_what_its_pool_asks_for_and_of_which_pool_it_is() -> None:
    own = Requirements.from_labels({"karpenter.k8s.aws/instance-ami-id": "ami-1"})
    pool = replace(node_pool(), requirements=own)
    wanted = own.with_(Requirements.from_labels({labels.NODEPOOL: "default", labels.ZONE: "a"}))
    claim_made = made(replace(planned_claim("p1"), requirements=wanted), pool=pool)

    assert {"karpenter.k8s.aws/instance-ami-id", labels.NODEPOOL, labels.ZONE} <= set(claim_made.requirements)


def test_a_claim_takes_over_what_its_pool_gives_every_node() -> None:
    pool = replace(
        node_pool(),
        labels={"tier": "batch"},
        annotations={"owner": "web"},
        taints=(TEAM,),
        startup_taints=(BOOT,),
        termination_grace_period=timedelta(minutes=5),
    )

    written = made(planned_claim("p1"), pool=pool)

    assert written.labels == {"tier": "batch", **node_pool().node_labels}
    assert written.annotations["owner"] == "web"
    assert (written.taints, written.startup_taints) == ((TEAM,), (BOOT,))
    assert written.termination_grace_period == timedelta(minutes=5)
    assert (written.created_at, written.node_class) == (START, pool.node_class)
    assert written.finalizers == (labels.TERMINATION_FINALIZER,)


@pytest.mark.parametrize(
    ("generation", "kind", "label"),
    [
        (Generation.V1ALPHA5, "Provisioner", labels.PROVISIONER),
        (Generation.V1BETA1, "NodePool", labels.NODEPOOL),
        (Generation.V1, "NodePool", labels.NODEPOOL),
    ],
)
def test_a_claim_is_its_pools_own(generation: Generation, kind: str, label: str) -> None:
    written = made(planned_claim("p1"), pool=replace(node_pool(), uid="u", generation=generation))

    owner = written.owners[0]
    assert (owner.kind, owner.name, owner.uid, owner.block_deletion) == (kind, "default", "u", True)
    assert written.generation is generation
    assert written.labels[label] == "default"


def test_labels_that_only_a_launch_can_decide_are_not_promised() -> None:
    written = made(wanting(**{labels.ZONE: ("a",), "team": ("web",), "tier": ("one", "two")}))

    assert written.labels == {"team": "web", **node_pool().node_labels}


def test_a_pools_label_is_not_overruled_by_what_pods_ask_for() -> None:
    written = made(wanting(team=("web",)), pool=replace(node_pool(), labels={"team": "api"}))

    assert written.labels["team"] == "api"


def test_a_claim_asks_for_the_types_that_were_planned_and_for_no_host() -> None:
    planned = wanting(**{labels.HOSTNAME: ("n1",), labels.INSTANCE_TYPE: ("m5.large",)})

    wanted = made(planned).requirements

    assert wanted.get(labels.HOSTNAME) is None
    types = wanted.get(labels.INSTANCE_TYPE)
    assert types is not None
    assert types.values == {"m5.xlarge"}


def test_a_claim_says_what_it_was_made_for_and_by_which_decision() -> None:
    written = made(planned_claim("p1", "p2", cpu=8))

    assert promised_pods(written) == ("p1", "p2")
    assert SpanContext.parse(written.annotations[labels.TRACEPARENT]) == decision().context
    assert written.annotations["treenail.sh/decision"] == "d1"
    assert written.requests == resources(cpu=2, pods=2)


def test_a_claim_that_says_nothing_was_made_for_nobody() -> None:
    assert promised_pods(claim("c1")) == ()


def test_before_its_launch_a_claim_counts_with_its_largest_type_and_then_with_what_it_got() -> None:
    written = made(planned_claim("p1", cpu=8))

    assert counted_capacity(written) == resources(cpu=8, pods=10)
    assert counted_capacity(replace(written, capacity=resources(cpu=2))) == resources(cpu=2)


@given(
    st.dictionaries(
        st.text("abcdefghijklmnopqrstuvwxyz.-/", min_size=1), st.integers(0, 2**63 - 1), max_size=5
    )
)
def test_amounts_are_read_as_they_were_written(amounts: dict[str, int]) -> None:
    assert read_amounts(write_amounts(Resources(amounts))) == Resources(amounts)


@given(st.text())
def test_whatever_somebody_else_wrote_there_is_read_without_harm(text: str) -> None:
    read_amounts(text)


@pytest.mark.parametrize(
    "text", ["", "a lot", "cpu=many", "cpu=-1", "cpu=1,memory", "cpu=²", "cpu=" + "9" * 5000]
)
def test_amounts_that_somebody_else_wrote_count_for_nothing(text: str) -> None:
    assert read_amounts(text) == NOTHING
