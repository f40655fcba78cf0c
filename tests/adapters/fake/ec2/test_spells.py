from __future__ import annotations

from dataclasses import replace

import pytest

from tests.adapters.fake.ec2.rig import QUIET, Rig, node_class, request
from treenail.adapters.fake.ec2 import Spell
from treenail.domain.model.errors import TooManyRequestsError, UnavailableError
from treenail.domain.model.node_classes import Kubelet


@pytest.mark.parametrize(
    ("spell", "error"), [(Spell.AWAY, UnavailableError), (Spell.THROTTLED, TooManyRequestsError)]
)
def test_every_call_fails_for_a_while_and_does_nothing(spell: Spell, error: type[Exception]) -> None:
    rig = Rig()
    rig.ec2.outside.begin(spell, 60)
    rig.agenda.run(59)
    with pytest.raises(error):
        rig.ec2.launch(request())
    with pytest.raises(error):
        rig.ec2.instance_types(node_class(), Kubelet())
    assert rig.ec2.all_instances() == ()

    rig.agenda.run(1)

    assert rig.ec2.launch(request()).instances


def test_a_spell_that_begins_again_lasts_until_the_later_end() -> None:
    rig = Rig()
    rig.ec2.outside.begin(Spell.AWAY, 60)
    rig.ec2.outside.begin(Spell.AWAY, 10)
    rig.agenda.run(30)

    with pytest.raises(UnavailableError):
        rig.ec2.instances()


def test_what_is_asked_for_while_answers_get_lost_is_done() -> None:
    rig = Rig()
    rig.ec2.outside.begin(Spell.ANSWERS_LOST, 60)
    with pytest.raises(UnavailableError):
        rig.ec2.launch(request(count=2))
    (first, second) = rig.ec2.all_instances()
    with pytest.raises(UnavailableError):
        rig.ec2.terminate((first.instance.id,))
    rig.agenda.run(60)

    assert rig.state(first.instance) != "pending"
    assert [i.id for i in rig.ec2.launch(request(count=2)).instances] == [
        first.instance.id,
        second.instance.id,
    ]


def test_slow_calls_take_seconds_longer() -> None:
    rig = Rig()
    rig.ec2.outside.begin(Spell.SLOW, 60)

    assert all(sum(rig.ec2.latency(("ec2", "await", "x"))) > 5 for _ in range(20))


def test_what_is_bought_while_it_is_hidden_is_listed_after_30_seconds() -> None:
    rig = Rig(settings=QUIET)
    rig.ec2.outside.begin(Spell.HIDDEN, 1)
    rig.ec2.launch(request())
    rig.agenda.run(29)
    assert rig.ec2.instances() == ()

    rig.agenda.run(1)

    assert len(rig.ec2.instances()) == 1


def test_without_templates_only_what_boots_as_before_is_launched() -> None:
    rig = Rig()
    rig.ec2.launch(request(call="before"))
    rig.ec2.outside.begin(Spell.TEMPLATES_REFUSED, 60)

    assert rig.ec2.launch(request("c5.large/a", call="alike")).instances
    other = request(call="other")
    other = replace(other, node_class=replace(other.node_class, generation=7))
    with pytest.raises(UnavailableError, match="CreateLaunchTemplate"):
        rig.ec2.launch(other)
    rig.agenda.run(60)
    assert rig.ec2.launch(other).instances
    assert rig.ec2.calls["CreateLaunchTemplate"] == 3


def test_templates_that_were_deleted_are_made_anew_by_the_launch_that_finds_none() -> None:
    rig = Rig()
    rig.ec2.launch(request(call="before"))
    rig.ec2.outside.delete_templates()

    assert rig.ec2.launch(request(call="after")).instances
    assert rig.ec2.calls["CreateLaunchTemplate"] == 2
    # One of them found no template.
    assert rig.ec2.calls["CreateFleet"] == 3


def test_a_profile_that_is_not_to_be_seen_is_no_want_of_capacity() -> None:
    rig = Rig()
    rig.ec2.outside.begin(Spell.PROFILE_HIDDEN, 10)

    answer = rig.ec2.launch(request("c5.large/a", "m5.large/b"))

    assert answer.instances == ()
    assert [error.code for error in answer.errors] == ["InvalidParameterValue"] * 2
    assert not any(error.capacity for error in answer.errors)


def test_a_spell_cannot_last_less_than_no_time() -> None:
    with pytest.raises(ValueError, match="-1"):
        Rig().ec2.outside.begin(Spell.SLOW, -1)
