"""CapacityBuffers that break a rule, and the field that must be named. Reading refuses them too."""

from __future__ import annotations

from typing import Any, Final

from tests.adapters.api.schema.trees import Refused, Tree, thing

WEB: Final = {"kind": "Deployment", "name": "web"}
NEGATIVE: Final = "should be greater than or equal to 0"


def buffer(**spec: Any) -> Tree:
    return thing("autoscaling.x-k8s.io/v1beta1", "CapacityBuffer", spec)


REFUSED_BUFFERS: Final[dict[str, Refused]] = {
    "buffer without a spec": Refused(
        {key: value for key, value in buffer().items() if key != "spec"},
        "spec",
        "Required value",
        "is missing",
    ),
    "buffer of a template and a workload": Refused(
        buffer(podTemplateRef={"name": "web"}, scalableRef=WEB, replicas=1),
        "spec.scalableRef",
        "cannot stand beside spec.podTemplateRef",
    ),
    "buffer of a template without a number": Refused(
        buffer(podTemplateRef={"name": "web"}),
        "spec.podTemplateRef",
        "needs spec.replicas or spec.limits beside it",
    ),
    "buffer of a template with a percentage alone": Refused(
        buffer(podTemplateRef={"name": "web"}, percentage=10),
        "spec.podTemplateRef",
        "needs spec.replicas or spec.limits beside it",
    ),
    "buffer of a template without a name": Refused(
        buffer(podTemplateRef={}, replicas=1), "spec.podTemplateRef.name", "Required value", "is missing"
    ),
    "buffer of a template with an empty name": Refused(
        buffer(podTemplateRef={"name": ""}, replicas=1),
        "spec.podTemplateRef.name",
        "at least 1 char",
        "empty",
    ),
    "buffer of a template that is a name": Refused(
        buffer(podTemplateRef="web", replicas=1), "spec.podTemplateRef", "must be of type object", "mapping"
    ),
    "buffer of a workload without a kind": Refused(
        buffer(scalableRef={"name": "web"}, replicas=1),
        "spec.scalableRef.kind",
        "Required value",
        "is missing",
    ),
    "buffer of a workload of an empty kind": Refused(
        buffer(scalableRef={**WEB, "kind": ""}, replicas=1),
        "spec.scalableRef.kind",
        "at least 1 char",
        "empty",
    ),
    "buffer of a workload without a name": Refused(
        buffer(scalableRef={"kind": "Deployment"}, replicas=1),
        "spec.scalableRef.name",
        "Required value",
        "is missing",
    ),
    "buffer of a workload with an empty name": Refused(
        buffer(scalableRef={**WEB, "name": ""}, replicas=1),
        "spec.scalableRef.name",
        "at least 1 char",
        "empty",
    ),
    "buffer of a workload of a group that is a number": Refused(
        buffer(scalableRef={**WEB, "apiGroup": 1}, replicas=1),
        "spec.scalableRef.apiGroup",
        "must be of type string",
        "text",
    ),
    "buffer of several workloads": Refused(
        buffer(scalableRef=[WEB], replicas=1), "spec.scalableRef", "must be of type object", "mapping"
    ),
    "buffer of fewer than no places": Refused(
        buffer(scalableRef=WEB, replicas=-1), "spec.replicas", NEGATIVE, "-1"
    ),
    "buffer of half a place": Refused(
        buffer(scalableRef=WEB, replicas=1.5), "spec.replicas", "must be of type integer", "number"
    ),
    "buffer of places in words": Refused(
        buffer(scalableRef=WEB, replicas="five"), "spec.replicas", "must be of type integer", "number"
    ),
    "buffer of more places than can be counted": Refused(
        buffer(scalableRef=WEB, replicas=2**31),
        "spec.replicas",
        "less than or equal to 2147483647",
        "2147483648",
    ),
    "buffer of less than no share": Refused(
        buffer(scalableRef=WEB, percentage=-5), "spec.percentage", NEGATIVE, "-5"
    ),
    "buffer of a share with its sign": Refused(
        buffer(scalableRef=WEB, percentage="10%"), "spec.percentage", "must be of type integer", "number"
    ),
    "buffer with a limit that is no amount": Refused(
        buffer(scalableRef=WEB, limits={"cpu": "many"}),
        "spec.limits.cpu",
        "should match",
        '"many" is not a quantity',
    ),
    "buffer with a limit below nothing": Refused(
        buffer(scalableRef=WEB, limits={"memory": "-1Gi"}),
        "spec.limits.memory",
        "should match",
        '"-1Gi" must not be negative',
    ),
    "buffer with limits in a list": Refused(
        buffer(scalableRef=WEB, limits=["cpu"]), "spec.limits", "must be of type object", "mapping"
    ),
    "buffer of a strategy that is a list": Refused(
        buffer(scalableRef=WEB, replicas=1, provisioningStrategy=["a"]),
        "spec.provisioningStrategy",
        "must be of type string",
        "text",
    ),
}
