"""What a trial changed is made again, without the trial, from the state that it began in."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from treenail.domain.model.resources import Resources
from treenail.domain.packing.arrays.arrays import Axis
from treenail.domain.packing.arrays.changes import Changes
from treenail.domain.packing.existing.existing_nodes import ExistingNodes
from treenail.domain.packing.problem import ExistingNode, VolumeNeeds

NUMBERS = st.floats(allow_nan=False)
DRIVER = "ebs.csi.aws.com"


@given(st.lists(st.tuples(NUMBERS, NUMBERS), max_size=6))
def test_changes_lead_from_what_was_to_what_is(pairs: list[tuple[float, float]]) -> None:
    before = np.array([was for was, _ in pairs])
    after = np.array([now for _, now in pairs])
    array = before.copy()

    Changes.between(before, after).make(array)

    assert array.tolist() == after.tolist()


def test_only_rows_that_differ_are_kept() -> None:
    before = np.zeros((3, 2))
    after = before.copy()
    after[1, 1] = 2.0

    changes = Changes.between(before, after)

    assert changes.rows.tolist() == [1]
    assert changes.values.tolist() == [[0.0, 2.0]]


def test_pods_and_their_volumes_are_placed_again() -> None:
    axis = Axis([Resources({"cpu": 1})])
    free = Resources({"cpu": 4, "pods": 10})
    some = [
        ExistingNode(name=f"n{i}", labels={}, taints=(), free=free, attachable={DRIVER: 3}) for i in range(2)
    ]
    nodes, one = ExistingNodes(some, axis), axis.requests(Resources({"cpu": 1}))
    shared = VolumeNeeds(known=((DRIVER, "vol-1"),))
    rows = np.array([0, 1])
    saved = nodes.save()
    nodes.take(rows[:1], np.array([2.0]), one, shared)
    placed = nodes.free(rows).tolist(), nodes.fits(rows, one, shared).tolist()
    other = VolumeNeeds(known=tuple((DRIVER, f"vol-{i}") for i in range(2, 5)))
    full = nodes.fits(rows, one, other).tolist()
    changes = nodes.changes_since(saved)
    nodes.restore(saved)
    assert nodes.fits(rows, one, other).tolist() != full

    nodes.make(changes)

    assert (nodes.free(rows).tolist(), nodes.fits(rows, one, shared).tolist()) == placed
    assert nodes.fits(rows, one, other).tolist() == full
    nodes.restore(saved)
    assert nodes.fits(rows, one, other).tolist() != full
