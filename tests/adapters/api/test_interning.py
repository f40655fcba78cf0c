from __future__ import annotations

import json
from typing import Any

from treenail.adapters.api.interning import interned
from treenail.adapters.api.items import Items
from treenail.adapters.api.reading import Reading
from treenail.domain.cluster.cluster_facts import Kind
from treenail.domain.model.pods import Pod

HASH = "7c9d8b6f5x"


class Written(str):
    """Text with the line it is on, as YAML is read."""

    __slots__ = ()


def pod(number: int) -> Pod:
    tree: dict[str, Any] = {
        "metadata": {
            "name": f"web-{number}",
            "namespace": "shop-front",
            "uid": f"uid-{number}",
            "resourceVersion": str(number),
            "creationTimestamp": "2026-01-01T00:00:00Z",
            "labels": {"pod-template-hash": HASH},
            "annotations": {"checksum/config": "c" * 64},
            "ownerReferences": [{"kind": "ReplicaSet", "name": "web-front", "uid": "the-uid-of-web"}],
        },
        "spec": {"nodeName": "node-one.example", "containers": [{"name": "c"}]},
    }
    item = Items("v1", "Pod", Kind.POD, Reading()).read(json.dumps(tree).encode())
    [found] = item.objects
    assert isinstance(found, Pod)
    return found


def test_what_pods_of_one_template_have_in_common_is_in_memory_once() -> None:
    one, other = pod(1), pod(2)

    assert one.labels["pod-template-hash"] is other.labels["pod-template-hash"]
    assert one.annotations["checksum/config"] is other.annotations["checksum/config"]
    assert one.namespace is other.namespace
    assert one.node_name is other.node_name
    assert one.owners[0].uid is other.owners[0].uid
    assert (one.name, other.name) == ("web-1", "web-2")
    assert one.labels == {"pod-template-hash": HASH}


def test_text_of_a_class_of_its_own_is_left_as_it_is() -> None:
    written = Written("web")

    assert interned(written) is written
