from __future__ import annotations

from tests.builders import node_class
from treenail.domain.model.node_class_status import ImageMeant, NodeClassMeaning
from treenail.domain.status.discoveries import Discoveries, Discovery


def images(*ids: str) -> NodeClassMeaning:
    return NodeClassMeaning(images=tuple(ImageMeant(id=one) for one in ids))


def test_an_image_that_is_for_several_kinds_of_types_is_told_once() -> None:
    told = tuple(Discoveries().of(node_class(), images("ami-1", "ami-2", "ami-2")))

    where = str(node_class().ref)
    assert told == (Discovery("discovered ami", {"node_class": where, "ids": ["ami-1", "ami-2"]}),)


def test_what_was_found_is_told_again_where_it_changed() -> None:
    discoveries = Discoveries()

    counts = [
        len(tuple(discoveries.of(node_class(), found)))
        for found in (images("ami-1"), images("ami-1"), images("ami-2"), NodeClassMeaning())
    ]

    assert counts == [1, 0, 1, 0]
