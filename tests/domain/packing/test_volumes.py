"""Pods whose volumes decide where they may be, and how many of them a node takes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import pytest

from tests.domain.packing.advised import advised
from tests.domain.packing.colocated import A, B, C, app, domains, node, refused, sold, solved
from tests.domain.packing.problems import asking, expression, is_in, offer, problem
from treenail.domain.model import labels
from treenail.domain.model.pods import PodSpec, PodVolume
from treenail.domain.model.requirements import Operator, Requirement, Requirements
from treenail.domain.packing.problem import ExistingNode, PoolOffer, Problem, VolumeNeeds
from treenail.domain.packing.remedies import ChangeKind

EBS, EFS = "ebs.csi.aws.com", "efs.csi.aws.com"
VOLUME = (PodVolume("data", claim_name="data"),)


def with_volumes(
    needs: VolumeNeeds | Iterable[VolumeNeeds],
    count: int = 1,
    spec: PodSpec | None = None,
    *,
    existing_nodes: tuple[ExistingNode, ...] = (),
    offers: tuple[PoolOffer, ...] | None = None,
) -> Problem:
    """Return a problem of pods with volumes: of these needs each, or each of its own."""
    some = app("web", count, replace(spec or asking(), volumes=VOLUME))
    each = [needs] * count if isinstance(needs, VolumeNeeds) else list(needs)
    volumes = {pod.uid: own for pod, own in zip(some, each, strict=True)}
    return problem(
        some, volumes=volumes, existing_nodes=existing_nodes, offers=(sold(),) if offers is None else offers
    )


def reached(*zones: str) -> VolumeNeeds:
    return VolumeNeeds(alternatives=tuple(Requirements((is_in(labels.ZONE, zone),)) for zone in zones))


def fresh(count: int, driver: str = EBS) -> VolumeNeeds:
    return VolumeNeeds(fresh=((driver, count),))


def known(*handles: str) -> VolumeNeeds:
    return VolumeNeeds(known=tuple((EBS, handle) for handle in handles))


def takes(name: str, places: int, *attached: str, cpu: int = 9) -> ExistingNode:
    """Return a node that takes so many more volumes besides those attached."""
    of = node(name, A, cpu=cpu)
    return replace(of, attachable={EBS: places}, attached=frozenset((EBS, handle) for handle in attached))


# --- where they can be reached


def test_a_node_is_bought_where_the_volume_is() -> None:
    assert domains(with_volumes(reached(B), 3)) == {B: 3}


def test_only_nodes_where_the_volume_is_will_do() -> None:
    existing_nodes = (node("n1", A), node("n2", B, cpu=1))

    assert domains(with_volumes(reached(B), 3, existing_nodes=existing_nodes)) == {B: 3}
    assert set(solved(with_volumes(reached(B), 3, existing_nodes=existing_nodes)).nominations.values()) == {
        "n2"
    }


def test_a_node_that_does_not_say_where_it_is_will_not_do() -> None:
    bare = replace(node("n1", B), labels={labels.HOSTNAME: "n1"})

    assert refused(with_volumes(reached(B), existing_nodes=(bare,), offers=())) == ["web-0"]


def test_pods_of_one_template_go_each_to_its_own_volume() -> None:
    assert domains(with_volumes([reached(A), reached(B), reached(C)], 3)) == {A: 1, B: 1, C: 1}


def test_where_the_first_alternative_leads_nowhere_the_next_is_tried() -> None:
    assert domains(with_volumes(reached("nowhere", C))) == {C: 1}
    assert domains(with_volumes(reached(A, C), spec=asking(selector={labels.ZONE: C}))) == {C: 1}


def test_alternatives_are_tried_before_wishes_fall() -> None:
    wish = asking(preferred=[(1, (expression(labels.ZONE, Operator.IN, C),))])

    assert domains(with_volumes(reached(A, C), spec=wish)) == {C: 1}
    assert domains(with_volumes(reached(A, B), spec=wish)) == {A: 1}


def test_alternatives_are_of_whatever_label() -> None:
    either = VolumeNeeds(
        alternatives=(
            Requirements((is_in("rack", "7"),)),
            Requirements((is_in(labels.ZONE, B), is_in(labels.ARCH, "arm64"))),
        )
    )
    at_rack = node("n1", A, more={"rack": "7"})

    assert solved(with_volumes(either, existing_nodes=(at_rack,))).nominations == {"web-0": "n1"}
    (claim,) = solved(with_volumes(either)).claims
    assert claim.instance_types == ("m6g.2xlarge",)
    assert claim.requirements[labels.ZONE].single == B


def test_a_volume_that_must_not_be_somewhere() -> None:
    not_there = VolumeNeeds(
        alternatives=(Requirements((Requirement.of(labels.ZONE, Operator.NOT_IN, (A, B)),)),)
    )

    assert domains(with_volumes(not_there)) == {C: 1}


def test_volumes_of_which_nothing_is_known_or_nothing_good_refuse_their_pods_alone() -> None:
    bad = with_volumes(VolumeNeeds(problem="the claim is lost"))
    unknown = replace(bad, volumes={})
    both = replace(bad, pods=(*bad.pods, *app("db", 1)))

    assert refused(bad) == refused(unknown) == refused(both) == ["web-0"]


# --- how many a node takes


@pytest.mark.parametrize(("each", "inside"), [(1, 3), (2, 1), (4, 0)])
def test_a_node_takes_as_many_as_can_be_attached(each: int, inside: int) -> None:
    of = with_volumes(fresh(each), 5, existing_nodes=(takes("n1", 3),))

    assert len(solved(of).nominations) == inside


def test_a_node_that_takes_none_still_takes_pods_without() -> None:
    existing_nodes = (takes("n1", 0),)

    assert solved(with_volumes(fresh(1), existing_nodes=existing_nodes)).nominations == {}
    assert solved(problem(app("web", 1), existing_nodes=existing_nodes)).nominations == {"web-0": "n1"}


def test_a_node_that_is_overdrawn_takes_none() -> None:
    assert solved(with_volumes(fresh(1), existing_nodes=(takes("n1", -1),))).nominations == {}


def test_new_nodes_take_any_number() -> None:
    (claim,) = solved(with_volumes(fresh(9), 5)).claims

    assert len(claim.pods) == 5


def test_a_driver_without_a_limit_has_none() -> None:
    of = with_volumes(fresh(9, EFS), 5, existing_nodes=(takes("n1", 0),))

    assert len(solved(of).nominations) == 5


def test_a_volume_that_several_pods_share_is_attached_once() -> None:
    of = with_volumes(known("vol-1"), 5, existing_nodes=(takes("n1", 1),))

    assert len(solved(of).nominations) == 5


def test_every_other_volume_takes_a_place() -> None:
    of = with_volumes(
        [known("vol-1"), known("vol-1", "vol-2"), known("vol-3")], 3, existing_nodes=(takes("n1", 2),)
    )

    assert solved(of).nominations == {"web-0": "n1", "web-1": "n1"}


def test_a_volume_that_is_attached_already_takes_no_place() -> None:
    of = with_volumes(known("vol-1"), 2, existing_nodes=(takes("n1", 0, "vol-1"),))

    assert len(solved(of).nominations) == 2


def test_known_and_fresh_volumes_count_together() -> None:
    needs = VolumeNeeds(known=((EBS, "vol-1"),), fresh=((EBS, 1),))

    assert len(solved(with_volumes(needs, 5, existing_nodes=(takes("n1", 4),))).nominations) == 3


def test_drivers_are_counted_each_for_itself() -> None:
    needs = VolumeNeeds(fresh=((EBS, 1), (EFS, 1)))
    both = replace(takes("n1", 4), attachable={EBS: 4, EFS: 2})

    assert len(solved(with_volumes(needs, 5, existing_nodes=(both,))).nominations) == 2


# --- what is said of those left over


def test_the_places_that_others_were_given_are_not_offered_again() -> None:
    (group,) = advised(
        with_volumes(fresh(1), 3, existing_nodes=(takes("n1", 2),), offers=(offer(limits={"cpu": 0}),))
    )

    assert len(group.pods) == 1
    assert group.remedy is not None
    assert [change.kind for change in group.remedy.changes] == [ChangeKind.RAISE_LIMIT]


def test_a_volume_attached_for_another_takes_no_place_from_those_left_over() -> None:
    several = [known("vol-1"), known("vol-1", "vol-2"), known("vol-1", "vol-2", "vol-3")]
    (group,) = advised(with_volumes(several, 3, existing_nodes=(takes("n1", 2),), offers=()))

    assert group.nearest is not None
    assert group.nearest.detail == "1 more volume of ebs.csi.aws.com would have to be attached, and 0 can be"
