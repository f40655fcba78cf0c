from __future__ import annotations

import io
import os
import threading
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import TypeVar

import pytest

from tests.builders import START
from tests.domain.packing.problems import (
    asking,
    catalogue,
    existing_node,
    expression,
    offer,
    pods,
    pool,
    problem,
)
from treenail.adapters.solver.wire import (
    Answer,
    ProblemReader,
    ProblemWriter,
    Question,
    SolverFailure,
    SolverGaveUp,
    read_plan,
    write_plan,
)
from treenail.domain.model.blockers import Block
from treenail.domain.model.pods import Owner
from treenail.domain.model.requirements import Operator
from treenail.domain.model.taints import Effect, Taint
from treenail.domain.packing.consolidation.consolidation_plan import ConsolidationPlan, Move, StayingNode
from treenail.domain.packing.consolidation.consolidation_problem import (
    CandidateNode,
    ConsolidationProblem,
    PoolTerms,
)
from treenail.domain.packing.pack import pack
from treenail.domain.packing.problem import Packing, PackingSettings, Problem, Resident, VolumeNeeds

Q = TypeVar("Q", Problem, ConsolidationProblem)

RESIDENT = Resident(namespace="default", labels=(("app", "web"),))
TAINT = Taint(key="a", value="b", effect=Effect.NO_EXECUTE)


def eventful() -> Problem:
    """A problem with something of everything."""
    choosy = asking(
        2,
        "1Gi",
        selector={"topology.kubernetes.io/zone": "zone-a"},
        required=[(expression("kubernetes.io/arch", Operator.IN, "amd64"),)],
    )
    owned = tuple(
        replace(
            p,
            labels={"app": "web"},
            owners=(Owner(kind="ReplicaSet", name="web", uid="u"),),
            unschedulable_since=START + timedelta(seconds=1),
        )
        for p in pods("owned", 250, asking(1))
    )
    return problem(
        pods("choosy", 3, choosy),
        owned,
        pods("huge", 2, asking(900)),
        offers=(
            offer(limits={"cpu": 40}),
            offer(pool("other", taints=(TAINT,))),
        ),
        existing_nodes=tuple(
            replace(existing_node(f"node-{i}", node_labels={"a": str(i)}), residents=((RESIDENT, i + 1),))
            for i in range(120)
        ),
        daemons=(asking("100m"),),
        volumes={p.uid: VolumeNeeds(fresh=(("ebs.csi.aws.com", 1),)) for p in owned},
        namespaces={"default": {"team": "a"}},
        settings=PackingSettings(packing=Packing.FIRST_FIT_DESCENDING, steps=10_000),
    )


class Line:
    """Both ends of a stream."""

    def __init__(self) -> None:
        self.sent = 0
        self.whole = False
        self._stream = io.BytesIO()
        self._writer = ProblemWriter(self._stream)
        self._reader = ProblemReader(self._stream)

    def carry(self, one: Q) -> Q:
        arrived = self.carry_while(lambda: True, one)
        assert isinstance(arrived, type(one))
        return arrived

    def carry_while(self, wanted: Callable[[], bool], one: Question) -> Question | None:
        self._stream.seek(0)
        self._stream.truncate()
        self.whole = self._writer.write(one, wanted)
        self.sent = self._stream.tell()
        self._stream.seek(0)
        return self._reader.read()

    @property
    def types_kept(self) -> int:
        return len(self._reader._types)


def carried(answer: Answer) -> Answer:
    stream = io.BytesIO()
    write_plan(answer, stream)
    stream.seek(0)
    return read_plan(stream)


def test_what_is_to_be_consolidated_arrives_as_it_was() -> None:
    candidates = tuple(
        CandidateNode(name=f"node-{i}", pool="default", pods=(f"web-{i}",), price=0.1) for i in range(250)
    )
    terms = {"default": PoolTerms(payback=timedelta(hours=2), allowed=3)}
    one = ConsolidationProblem(
        problem=eventful(),
        candidates=candidates,
        terms=terms,
        not_receiving=frozenset(["node-1"]),
        spot_to_spot=True,
    )
    line = Line()

    assert line.carry(one) == one
    # A problem of pods comes through the same pipe, before and after.
    assert line.carry(one.problem) == one.problem
    assert line.carry(one) == one


def test_a_consolidation_plan_arrives_as_it_was() -> None:
    claim = pack(eventful()).claims[0]
    moves = tuple(Move(removed=(f"node-{i}",), claims=(claim,), saves=0.1) for i in range(120))
    staying = (
        StayingNode(
            name="node-0", why=Block.POD_UNPLACED.by("default/p", "no room", until=START), would_save=0.2
        ),
    )
    plan = ConsolidationPlan(moves=moves, staying=staying, cost=2.0, cost_after=1.0, cut_short=True)

    assert carried(plan) == plan


def test_a_problem_arrives_as_it_was() -> None:
    one = eventful()
    arrived = Line().carry(one)

    assert arrived == one
    assert pack(arrived) == pack(one)


def test_what_rooms_have_in_common_is_still_one_object_on_arrival() -> None:
    arrived = Line().carry(eventful())

    assert (
        len(
            {
                id(resident)
                for existing_node in arrived.existing_nodes
                for resident, _ in existing_node.residents
            }
        )
        == 1
    )


def test_pods_of_one_spec_still_share_it() -> None:
    first, *others = Line().carry(eventful()).pods[3:253]

    assert all(p.spec is first.spec for p in others)


def test_instance_types_are_sent_once() -> None:
    line, one = Line(), problem(pods("web", 1))
    line.carry(one)
    first = line.sent

    again = line.carry(replace(one))

    assert again == one
    assert line.sent < first / 4


def test_a_catalogue_that_stays_is_the_same_tuple_on_arrival() -> None:
    line, types = Line(), catalogue()
    first, second = offer(types=types), offer(pool("other"), types=types)
    before = line.carry(problem(pods("web", 1), offers=(first, second))).offers

    after = line.carry(problem(pods("api", 2), offers=(second,))).offers

    assert before[0].instance_types is before[1].instance_types
    assert after[0].instance_types is before[0].instance_types


def test_what_was_on_offer_before_it_ran_out_arrives_with_the_pods_that_are_to_come() -> None:
    line, types = Line(), catalogue()
    left = tuple(replace(one, offerings=one.offerings[:1]) for one in types)
    one = problem(pods("web", 3), offers=(offer(types=left),))
    one = replace(one, to_come=frozenset({"web-2"}), ordinary_offers=(offer(types=types),))

    assert line.carry(one) == one
    again = line.carry(one)

    assert again == one
    assert again.ordinary_offers[0].instance_types is line.carry(one).ordinary_offers[0].instance_types


def test_instance_types_that_change_are_sent_anew_and_old_ones_are_dropped() -> None:
    line = Line()
    for _ in range(3):
        types = tuple(replace(one, offerings=one.offerings[:1]) for one in catalogue())
        one = problem(pods("web", 1), offers=(offer(types=types),))

        assert line.carry(one) == one
        assert line.types_kept == len(types)

    some = problem(pods("web", 1), offers=(offer(types=types[:3]),))
    assert line.carry(some) == some
    assert line.types_kept == 3


def test_problems_come_one_after_the_other_through_one_pipe() -> None:
    problems = [eventful(), problem(), problem(pods("web", 500))]
    read_end, write_end = os.pipe()
    with os.fdopen(read_end, "rb") as source, os.fdopen(write_end, "wb") as sink:
        writer = ProblemWriter(sink)

        def write() -> None:
            for one in problems:
                writer.write(one)

        thread = threading.Thread(target=write)
        thread.start()
        reader = ProblemReader(source)

        assert [reader.read() for _ in problems] == problems
        thread.join()


def test_a_plan_arrives_as_it_was() -> None:
    plan = pack(eventful())

    assert plan.claims
    assert plan.nominations
    assert plan.refused
    assert carried(plan) == plan
    assert carried(replace(plan, deferred=("a", "b"), exhausted=True)) == replace(
        plan, deferred=("a", "b"), exhausted=True
    )


def test_a_failure_arrives_as_it_was() -> None:
    assert carried(SolverFailure("Traceback")) == SolverFailure("Traceback")
    assert carried(SolverGaveUp()) == SolverGaveUp()


@pytest.mark.parametrize("slices", [0, 1, 3])
def test_of_a_problem_that_is_given_up_on_its_way_all_types_arrive_and_nothing_else(slices: int) -> None:
    line, left = Line(), iter([True] * slices)
    many = problem(pods("web", 2_000))

    assert line.carry_while(lambda: next(left, False), many) is None

    assert not line.whole
    begun = line.sent
    assert line.carry(many) == many
    assert line.whole
    types = len({id(one) for offer in many.offers for one in offer.instance_types})
    assert line.types_kept == types
    line.carry(replace(many, pods=many.pods[:1]))
    assert line.sent < begun  # the types were sent the first time


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.999])
def test_an_end_in_the_middle_is_an_end(share: float) -> None:
    stream = io.BytesIO()
    write_plan(pack(eventful()), stream)
    cut = io.BytesIO(stream.getvalue()[: int(stream.tell() * share)])

    with pytest.raises(EOFError):
        read_plan(cut)
