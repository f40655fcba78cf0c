from __future__ import annotations

from tests.builders import claim, node_pool, resources
from treenail.domain.model.claims import COUNTS_AS
from treenail.domain.model.nodes import NodeClaim
from treenail.domain.model.pool_limits import limits_left, usage
from treenail.domain.model.resources import Resources

LAUNCHED = claim("c1", provider_id="aws:///a/i-1", room=resources(cpu=4, pods=10))
WRITTEN = claim("c2", annotations={COUNTS_AS: "cpu=8000,pods=29"})
LEAVING = claim("c3", provider_id="aws:///a/i-3", room=resources(cpu=2), leaving=True)


def left(limits: Resources | None, *claims: NodeClaim) -> Resources | None:
    return limits_left(node_pool(limits=limits), claims)


def test_claims_add_up_to_their_capacity_and_their_number() -> None:
    assert usage((LAUNCHED, WRITTEN, LEAVING)) == resources(cpu=14, pods=39, nodes=3)
    assert usage(()) == resources(nodes=0)


def test_what_is_left_is_told_of_limited_resources_only() -> None:
    assert left(resources(cpu=20, nodes=5), LAUNCHED, WRITTEN) == resources(cpu=8, nodes=3)


def test_what_is_leaving_still_counts() -> None:
    assert left(resources(cpu=2), LEAVING) == resources(cpu=0)


def test_limits_may_be_overdrawn_by_those_who_lower_them() -> None:
    assert left(resources(cpu=1), LAUNCHED) == resources(cpu=-3)


def test_a_pool_without_limits_has_no_end() -> None:
    assert left(None, LAUNCHED) is None
