from __future__ import annotations

from dataclasses import replace

import pytest

from tests.builders import instance_type, node_class, node_pool
from treenail.domain.model import labels
from treenail.domain.model.catalogue_keys import ALL_SPOT, catalogue_key, mark_unavailable
from treenail.domain.model.instance_types import InstanceType
from treenail.domain.model.node_classes import Kubelet, NodeClass
from treenail.domain.model.node_pools import NodePool

LARGE = instance_type("m5.large", 2, price=0.1)
XLARGE = instance_type("m5.xlarge", 4, price=0.2)
SMALL_PODS = Kubelet(max_pods=9)


def available(of: InstanceType) -> list[tuple[str, str]]:
    return [(o.capacity_type, o.zone) for o in of.offerings if o.available]


def test_only_what_ran_out_is_marked() -> None:
    gone = frozenset({(labels.SPOT, "m5.large", "a"), (labels.SPOT, "c5.large", "b")})

    large, xlarge = mark_unavailable((LARGE, XLARGE), gone)

    assert available(large) == [("on-demand", "a"), ("on-demand", "b"), ("spot", "b")]
    assert [o.price for o in large.offerings] == [o.price for o in LARGE.offerings]
    assert xlarge is XLARGE


def test_what_is_marked_stays_marked() -> None:
    once = mark_unavailable((LARGE,), frozenset({(labels.SPOT, "m5.large", "a")}))

    twice = mark_unavailable(once, frozenset({(labels.SPOT, "m5.large", "b")}))

    assert available(twice[0]) == [("on-demand", "a"), ("on-demand", "b")]


def test_all_of_spot_can_be_gone_at_once() -> None:
    large, xlarge = mark_unavailable((LARGE, XLARGE), frozenset({ALL_SPOT}))

    assert available(large) == available(xlarge) == [("on-demand", "a"), ("on-demand", "b")]


def test_with_nothing_gone_all_stays_as_it_is() -> None:
    types = (LARGE, XLARGE)

    assert mark_unavailable(types, frozenset()) is types


@pytest.mark.parametrize(
    ("pool", "of_class", "same"),
    [
        pytest.param(node_pool("other"), node_class(), True, id="another pool of the class"),
        pytest.param(node_pool(), node_class(version=2), False, id="another revision of the class"),
        pytest.param(
            replace(node_pool(), kubelet=SMALL_PODS), node_class(), False, id="a pool with kubelet settings"
        ),
        pytest.param(
            node_pool(), replace(node_class(), kubelet=SMALL_PODS), False, id="a class with kubelet settings"
        ),
    ],
)
def test_pools_share_a_catalogue_where_it_is_the_same(
    pool: NodePool, of_class: NodeClass, *, same: bool
) -> None:
    other = catalogue_key(pool, of_class)

    assert (other == catalogue_key(node_pool(), node_class())) is same


def test_a_pools_kubelet_settings_come_before_its_classs() -> None:
    of_class = replace(node_class(), kubelet=SMALL_PODS)

    own = catalogue_key(replace(node_pool(), kubelet=Kubelet(max_pods=20)), of_class)

    assert own.kubelet == Kubelet(max_pods=20)
    assert str(own) == "EC2NodeClass/default@1"
