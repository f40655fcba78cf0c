from __future__ import annotations

import pytest

from tests.scenarios.manifests import deployment, node_class, node_pool, text
from treenail.adapters.embed.rehearsal import Rehearsal
from treenail.adapters.fake.ec2 import Spell

_POOLS = 8


@pytest.mark.seeds(quick=2, soak=50)
@pytest.mark.parametrize("spell", [Spell.TEMPLATES_REFUSED, Spell.AWAY])
def test_while_nothing_can_be_launched_few_try_and_all_go_on_when_it_can(spell: Spell, seed: int) -> None:
    with Rehearsal(seed=seed) as rehearsal:
        pools = [node_pool(f"p{n}", labels={"team": f"t{n}"}) for n in range(_POOLS)]
        work = [deployment(f"w{n}", replicas=4, node_selector={"team": f"t{n}"}) for n in range(_POOLS)]
        rehearsal.apply(text(node_class(), *pools))
        rehearsal.run("1m")
        rehearsal.ec2_under(spell, 1200)
        rehearsal.apply(text(*work))
        rehearsal.run("20m")

        tried = rehearsal.ec2.calls.get("CreateLaunchTemplate", 0) + rehearsal.ec2.calls.get("CreateFleet", 0)
        assert tried <= 70
        assert rehearsal.ec2.live() == ()

        rehearsal.run_until(lambda: all(c.provider_id for c in rehearsal.claims()), within="60s")
        rehearsal.run_until(lambda: rehearsal.running() == 4 * _POOLS, within="4m")
