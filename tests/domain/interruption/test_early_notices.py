from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Any

from tests.builders import START, at, claim_of, view
from treenail.domain.disruption.disruption import NodeInterrupted
from treenail.domain.interruption.early_notices import EarlyNotices
from treenail.domain.model import labels
from treenail.domain.model.causes import Cause
from treenail.domain.model.nodes import NodeClaim


def launching(name: str) -> NodeClaim:
    return claim_of(view(name, of_claim={"provider_id": ""}))


def launched(name: str) -> NodeClaim:
    return claim_of(view(name))


def notice(instance_id: str, deadline: datetime | None = None, **more: Any) -> NodeInterrupted:
    told: dict[str, Any] = {"instance_id": instance_id, "cause": Cause.INSTANCE_STOPPED, "noticed_at": START}
    return NodeInterrupted(deadline=deadline, **{**told, **more})


def knowing(*names: str) -> EarlyNotices:
    early = EarlyNotices()
    early.know_all()
    for name in names:
        early.note(name, launching(name))
    return early


def test_where_nothing_is_launched_an_unknown_instance_is_none_of_ours() -> None:
    early = knowing("c1")
    early.note("c1", launched("c1"))

    assert not early.keep(notice("i-other"))


def test_all_notices_of_an_instance_are_found_with_it_once_each_in_order() -> None:
    early = knowing("c1")
    for one in (notice("i-c1", at(60)), notice("i-c1"), notice("i-c1", at(60), message_id="again")):
        assert early.keep(one)

    early.note("c1", launched("c1"))

    assert early.take_found() == (notice("i-c1", at(60), message_id="again"), notice("i-c1"))
    assert early.take_found() == ()
    assert early.take_foreign() == ()


def test_an_instance_is_foreign_when_the_launches_before_its_first_notice_are_over() -> None:
    early = knowing("c1")
    early.keep(notice("i-a"))
    early.note("c2", launching("c2"))
    early.keep(notice("i-b"))
    early.keep(notice("i-a"))
    assert early.take_foreign() == ()

    early.note("c1", None)
    assert early.take_foreign() == ("i-a",)
    early.note("c2", replace(launching("c2"), deleting_since=START))
    assert early.take_foreign() == ("i-b",)


def test_a_claim_that_goes_may_still_get_what_was_asked_for_before() -> None:
    early = knowing("c1")
    early.keep(notice("i-c1"))

    asked = replace(launching("c1"), annotations={labels.LAUNCH: "5f1e/0/x"}, deleting_since=START)
    early.note("c1", asked)
    assert early.take_foreign() == ()
    early.note("c1", replace(asked, provider_id="aws:///a/i-c1"))

    assert early.take_found() == (notice("i-c1"),)


def test_before_all_is_known_every_instance_may_be_ours() -> None:
    early = EarlyNotices()
    early.keep(notice("i-a"))
    early.note("c1", launching("c1"))
    early.note("c1", None)
    assert early.take_foreign() == ()

    early.note("c2", launching("c2"))
    assert early.know_all() == ("i-a",)
    assert early.take_foreign() == ()
    early.note("c3", launching("c3"))
    assert early.know_all() == ()  # told again, it begins nothing anew
    early.note("c2", None)
    assert early.take_foreign() == ("i-a",)
