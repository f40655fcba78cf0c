"""Node overlays that break a rule, and the field that must be named."""

from __future__ import annotations

from typing import Any, Final

from tests.adapters.api.schema.trees import Refused, Tree, asking, thing

MANY: Final = 101


def overlay(**spec: Any) -> Tree:
    return thing("karpenter.sh/v1alpha1", "NodeOverlay", {"requirements": [], **spec})


def about(key: str, operator: str, *values: str) -> Tree:
    return overlay(**asking(key, operator, *values))


REFUSED_OVERLAYS: Final[dict[str, Refused]] = {
    "overlay of nothing": Refused(
        thing("karpenter.sh/v1alpha1", "NodeOverlay", {}), "spec.requirements", "Required value", "is missing"
    ),
    "overlay with two prices": Refused(
        overlay(price="0.432", priceAdjustment="+10%"),
        "spec.priceAdjustment",
        "cannot stand beside price",
        "cannot stand beside spec.price",
    ),
    **{
        f"overlay with the price {price!r}": Refused(
            overlay(price=price), "spec.price", "should match", "is not a price in US dollars per hour"
        )
        for price in ("+42", ".5", "42.", "42%", "3,14", "1e10", "0x42", "forty-two", "42 ", "-", "")
    },
    **{
        f"overlay with the change {change!r}": Refused(
            overlay(priceAdjustment=change),
            "spec.priceAdjustment",
            "should match",
            "is not a change with its sign",
        )
        for change in ("1%", "1", "1.3", "-101%", "-100.5%", "+", "-%", "+1e3")
    },
    "overlay with a price that is a number": Refused(
        overlay(price=1), "spec.price", "must be of type string", "expected text, got the number 1"
    ),
    "overlay with an endless price": Refused(
        overlay(price="1" * 33), "spec.price", "Too long", "is not a price in US dollars per hour"
    ),
    **{
        f"overlay with {resource}": Refused(
            overlay(capacity={resource: "1"}),
            "spec.capacity",
            "must not name cpu, memory, ephemeral-storage, pods",
            "is no extended resource",
        )
        for resource in ("cpu", "memory", "ephemeral-storage", "pods")
    },
    "overlay with a resource of no name": Refused(
        overlay(capacity={"example.com/": "1"}), "spec.capacity", "must be names of resources", "is not a"
    ),
    "overlay with no amount": Refused(
        overlay(capacity={"example.com/a": "x"}),
        "spec.capacity.example.com/a",
        "should match",
        "is not a quantity",
    ),
    "overlay without weight": Refused(
        overlay(weight=0), "spec.weight", "should be greater than or equal to 1", "is not between 1 and 10000"
    ),
    "overlay of great weight": Refused(
        overlay(weight=10_001),
        "spec.weight",
        "should be less than or equal to 10000",
        "is not between 1 and 10000",
    ),
    "overlay that asks too much": Refused(
        overlay(requirements=[{"key": "a", "operator": "Exists"}] * MANY),
        "spec.requirements",
        "Too many",
        "has 101 items, 100 at most are allowed",
    ),
    "overlay of no value": Refused(
        about("a", "In"), "spec.requirements[0].values", "In needs at least one value"
    ),
    "overlay of all but no value": Refused(
        about("a", "NotIn"), "spec.requirements[0].values", "NotIn needs at least one value"
    ),
    "overlay of an unknown operator": Refused(
        about("a", "Like", "b"), "spec.requirements[0].operator", "Unsupported value", "is not one of"
    ),
    "overlay above a word": Refused(
        about("a", "Gt", "b"),
        "spec.requirements[0].values",
        "exactly one whole number",
        "exactly one whole number",
    ),
    "overlay below nothing": Refused(
        about("a", "Lte", "-1"),
        "spec.requirements[0].values",
        "Gt, Lt, Gte and Lte need exactly one whole number, not a negative one",
        "must not be negative",
    ),
    "overlay of a host": Refused(
        about("kubernetes.io/hostname", "Exists"),
        "spec.requirements[0].key",
        "restricted: every node",
        "is restricted",
    ),
    "overlay of a label of Karpenter's": Refused(
        about("karpenter.sh/test", "In", "a"),
        "spec.requirements[0].key",
        "of karpenter.sh there is only",
        "labels of karpenter.sh are not for users",
    ),
    "overlay of no label of AWS": Refused(
        about("karpenter.k8s.aws/instance-famly", "Exists"),
        "spec.requirements[0].key",
        "of karpenter.k8s.aws there are only",
        "is no label of karpenter.k8s.aws",
    ),
    "overlay of a malformed label": Refused(
        about("test.com.com}", "Exists"), "spec.requirements[0].key", "should match", "is not a label key"
    ),
    "overlay of a way to buy that there is not": Refused(
        about("karpenter.sh/capacity-type", "In", "free"),
        "spec.requirements[0].values",
        "one of them must be one of on-demand, reserved, spot",
        "none of them is one of on-demand, reserved, spot",
    ),
}
