from __future__ import annotations

from dataclasses import replace
from datetime import datetime

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from tests.builders import at, bound_pod, pending_pod, resources
from treenail.domain.cluster.promises import Promise, PromiseBook
from treenail.domain.model.resources import NOTHING, total


def promise(
    pod: str, target: str = "c1", *, cpu: int = 1, heir: str = "", until: float | None = None
) -> Promise:
    expires_at = None if until is None else at(until)
    return Promise(like=pending_pod(pod, cpu), target=target, decision="d1", heir=heir, expires_at=expires_at)


def book(*promises: Promise) -> PromiseBook:
    made = PromiseBook()
    for one in promises:
        made.make(one)
    return made


def pods(promises: tuple[Promise, ...]) -> list[str]:
    return [p.pod for p in promises]


def test_a_promise_is_found_by_its_pod_and_by_its_target() -> None:
    first, second = promise("p1"), promise("p2", "c2")

    known = book(first, second)

    assert known.of("p1") is first
    assert known.at("c2") == (second,)
    assert known.targets() == ("c1", "c2")
    assert list(known.all()) == [first, second]
    assert len(known) == 2


def test_a_pod_is_promised_one_place_only() -> None:
    known = book(promise("p1", "c1"))

    with pytest.raises(ValueError, match="pod p1 is promised a place on c1"):
        known.make(promise("p1", "c2"))


def test_what_is_reserved_is_the_sum_of_the_promises() -> None:
    known = book(promise("p1", cpu=1), promise("p2", cpu=2))
    before = known.reserved("c1")

    known.end("p1")

    assert before == resources(cpu=3, pods=2)
    assert known.reserved("c1") == resources(cpu=2, pods=1)
    assert known.reserved("nowhere") == NOTHING


def test_the_last_promise_that_ends_leaves_no_target_behind() -> None:
    known = book(promise("p1"))

    assert known.end("p1") == promise("p1")
    assert known.end("p1") is None
    assert known.targets() == ()


def test_all_promises_on_a_target_end_together() -> None:
    known = book(promise("p1"), promise("p2", "c2"), promise("p3"))

    assert pods(known.end_all("c1")) == ["p1", "p3"]
    assert known.targets() == ("c2",)


def test_promises_expire_at_their_time_and_not_before() -> None:
    known = book(promise("p1", until=20), promise("p2", until=10), promise("p3"))

    assert known.next_expiry() == at(10)
    assert known.expire(at(9.9)) == ()
    assert pods(known.expire(at(10))) == ["p2"]
    assert known.next_expiry() == at(20)
    assert pods(known.expire(at(60))) == ["p1"]
    assert known.next_expiry() is None
    assert known.of("p3") is not None


def test_a_promise_that_ended_before_its_time_does_not_expire() -> None:
    known = book(promise("p1", until=10))
    known.end("p1")
    known.make(promise("p1", "c2", until=30))

    assert known.next_expiry() == at(30)
    assert known.expire(at(10)) == ()


def test_the_place_of_a_pod_that_goes_is_kept_for_its_heir_no_longer_than_it_was() -> None:
    known = book(promise("p1", heir="web", until=5), promise("p2", heir="web", until=600))

    known.orphan("p1", expires_at=at(20))
    known.orphan("p2", expires_at=at(20))

    assert [one.expires_at for one in known.at("c1")] == [at(5), at(20)]


def test_the_promise_of_a_pod_that_is_gone_ends() -> None:
    known = book(promise("p1"))

    assert known.orphan("p1", expires_at=at(20)) == promise("p1")
    assert known.orphan("p1", expires_at=at(20)) is None
    assert len(known) == 0


def test_a_successor_takes_over_what_its_owner_promised_pod_before_it_had() -> None:
    known = book(promise("old", heir="web"))
    assert known.orphan("old", expires_at=at(20)) is None

    taken = known.inherit(pending_pod("new", owner="web"))

    assert taken == promise("new", until=20)
    assert known.at("c1") == (taken,)
    assert known.of("old") is None
    assert known.reserved("c1") == resources(cpu=1, pods=1)


def test_a_promise_is_inherited_once() -> None:
    known = book(promise("old", heir="web"))
    known.orphan("old", expires_at=at(20))
    known.inherit(pending_pod("new", owner="web"))

    assert known.inherit(pending_pod("newer", owner="web")) is None


def test_successors_inherit_in_the_order_the_pods_before_them_went() -> None:
    known = book(promise("a", "c1", heir="web"), promise("b", "c2", heir="web"))
    known.orphan("b", expires_at=at(20))
    known.orphan("a", expires_at=at(20))

    targets = [
        taken.target for uid in ("n1", "n2") if (taken := known.inherit(pending_pod(uid, owner="web")))
    ]

    assert targets == ["c2", "c1"]


@pytest.mark.parametrize(
    "pod",
    [
        pytest.param(pending_pod("new", owner="api"), id="another owner's"),
        pytest.param(pending_pod("new", cpu=2, owner="web"), id="of another size"),
        pytest.param(pending_pod("new", owner=""), id="nobody's"),
    ],
)
def test_a_stranger_inherits_nothing(pod: object) -> None:
    known = book(promise("old", heir="web"))
    known.orphan("old", expires_at=at(20))

    assert known.inherit(pod) is None  # type: ignore[arg-type]
    assert known.of("old") is not None


def test_a_pod_that_has_a_promise_does_not_inherit_another() -> None:
    known = book(promise("old", heir="web"), promise("new", "c2"))
    known.orphan("old", expires_at=at(20))

    assert known.inherit(pending_pod("new", owner="web")) is None


def test_a_place_kept_for_a_successor_that_never_comes_expires() -> None:
    known = book(promise("old", heir="web"))
    known.orphan("old", expires_at=at(20))

    assert pods(known.expire(at(20))) == ["old"]
    assert known.inherit(pending_pod("new", owner="web")) is None


def test_an_orphan_keeps_the_end_it_had() -> None:
    known = book(promise("old", heir="web", until=5))

    known.orphan("old", expires_at=at(20))

    assert known.next_expiry() == at(5)


def test_a_pod_that_goes_and_then_is_gone_stays_in_its_place_in_line() -> None:
    known = book(promise("a", "c1", heir="web"), promise("b", "c2", heir="web"))

    for pod in ("a", "b", "a"):
        known.orphan(pod, expires_at=at(20))

    taken = known.inherit(pending_pod("new", owner="web"))
    assert taken is not None
    assert taken.target == "c1"


def test_a_promise_is_renewed_for_another_time_or_for_as_long_as_it_takes() -> None:
    known = book(promise("p1", until=10), promise("p2", until=10))

    known.renew(promise("p1", until=10), expires_at=at(30))
    known.renew(promise("p2", until=10), expires_at=None)

    assert known.expire(at(10)) == ()
    assert known.next_expiry() == at(30)
    assert pods(known.expire(at(60))) == ["p1"]


def test_the_latest_promises_are_withdrawn_until_the_rest_fits() -> None:
    known = book(promise("p1", cpu=1), promise("p2", cpu=2), promise("p3", cpu=1))

    withdrawn = known.withdraw_overdrawn("c1", resources(cpu=2, pods=10))

    assert pods(withdrawn) == ["p3", "p2"]
    assert pods(known.at("c1")) == ["p1"]


def test_nothing_is_withdrawn_while_all_fits() -> None:
    known = book(promise("p1"), promise("p2"))

    assert known.withdraw_overdrawn("c1", resources(cpu=2, pods=2)) == ()


PODS = st.sampled_from([f"p{n}" for n in range(6)])
TARGETS = st.sampled_from(["c1", "c2", "n1"])
SECONDS = st.integers(0, 60)


class PromiseMachine(RuleBasedStateMachine):
    """The book against the plainest one there could be: a dictionary."""

    def __init__(self) -> None:
        super().__init__()
        self.book = PromiseBook()
        self.plain: dict[str, Promise] = {}
        self.gone: dict[str, None] = {}
        self.clock = 0

    @property
    def now(self) -> datetime:
        return at(self.clock)

    @rule(
        pod=PODS,
        place=TARGETS,
        cpu=st.integers(1, 3),
        heir=st.sampled_from(["", "web", "api"]),
        until=SECONDS,
    )
    def make(self, pod: str, place: str, cpu: int, heir: str, until: int) -> None:
        made = promise(pod, place, cpu=cpu, heir=heir, until=until or None)
        if pod in self.plain:
            with pytest.raises(ValueError, match=pod):
                self.book.make(made)
        else:
            self.book.make(made)
            self.plain[pod] = made

    @rule(pod=PODS)
    def end(self, pod: str) -> None:
        assert self.book.end(pod) == self.plain.pop(pod, None)
        self.gone.pop(pod, None)

    @rule(place=TARGETS)
    def end_all(self, place: str) -> None:
        ended = {p.pod for p in self.book.end_all(place)}
        assert ended == {uid for uid, p in self.plain.items() if p.target == place}
        self._drop(ended)

    @rule(pod=PODS, until=SECONDS)
    def renew(self, pod: str, until: int) -> None:
        known = self.plain.get(pod)
        if known is not None:
            self.book.renew(known, expires_at=at(until))
            self.plain[pod] = replace(known, expires_at=at(until))

    @rule(pod=PODS)
    def a_pod_goes(self, pod: str) -> None:
        self.book.orphan(pod, expires_at=at(self.clock + 20))
        known = self.plain.get(pod)
        if known is not None and known.heir:
            soon = at(self.clock + 20)
            self.plain[pod] = replace(known, expires_at=min(known.expires_at or soon, soon))
            self.gone[pod] = None
        else:
            self.plain.pop(pod, None)

    @rule(pod=PODS, owner=st.sampled_from(["web", "api"]), cpu=st.integers(1, 3), bound=st.booleans())
    def a_pod_comes(self, pod: str, owner: str, cpu: int, *, bound: bool) -> None:
        new = bound_pod(pod, "n1", cpu, owner=owner) if bound else pending_pod(pod, cpu, owner=owner)
        left = [u for u in self.gone if self.plain[u].heir == owner and self.plain[u].spec == new.spec]
        taken = self.book.inherit(new)
        if pod in self.plain or not left:
            assert taken is None
        else:
            self.plain[pod] = replace(self.plain[left[0]], like=new, heir="")
            assert taken == self.plain[pod]
            self._drop({left[0]})

    @rule(place=TARGETS, cpu=st.integers(0, 6))
    def withdraw(self, place: str, cpu: int) -> None:
        free = resources(cpu=cpu, pods=10)
        self._drop({p.pod for p in self.book.withdraw_overdrawn(place, free)})
        assert total(p.requests for p in self.plain.values() if p.target == place).fits(free)

    @rule(seconds=st.integers(1, 20))
    def time_goes_by(self, seconds: int) -> None:
        self.clock += seconds
        over = {u for u, p in self.plain.items() if p.expires_at is not None and p.expires_at <= self.now}
        assert {p.pod for p in self.book.expire(self.now)} == over
        self._drop(over)

    def _drop(self, uids: set[str]) -> None:
        for uid in sorted(uids):
            del self.plain[uid]
            self.gone.pop(uid, None)

    @invariant()
    def the_book_says_what_the_plain_one_says(self) -> None:
        assert {p.pod: p for p in self.book.all()} == self.plain
        assert len(self.book) == len(self.plain)
        assert set(self.book.targets()) == {p.target for p in self.plain.values()}
        for place in ("c1", "c2", "n1"):
            there = {p.pod: p for p in self.plain.values() if p.target == place}
            assert {p.pod: p for p in self.book.at(place)} == there
            assert self.book.reserved(place) == total(p.requests for p in there.values())
        for owner in ("web", "api"):
            owned = [p for p in self.plain.values() if p.like.owner is not None and p.like.owner.uid == owner]
            assert self.book.waiting(owner) == sum(not p.heir for p in owned)
        ends = [p.expires_at for p in self.plain.values() if p.expires_at is not None]
        assert self.book.next_expiry() == min(ends, default=None)


PromiseMachine.TestCase.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
test_the_book_is_as_good_as_a_dictionary = PromiseMachine.TestCase
