"""Answers in pages, where moto gives everything at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from moto.core.responses import ActionResult
from moto.ec2.exceptions import EC2ClientError
from moto.ec2.responses.amis import AmisResponse
from moto.ec2.responses.instances import InstanceResponse
from moto.ec2.responses.security_groups import SecurityGroups
from moto.ec2.responses.subnets import Subnets

_NEXT: Final = "page-from-"
_ALL: Final = 1_000_000

# Class, action and list of the answer; how many at most, and how many where the request does not say.
_PAGED: Final = (
    (InstanceResponse, "describe_instance_types", "InstanceTypes", 100, 100),
    (InstanceResponse, "describe_instance_type_offerings", "InstanceTypeOfferings", 1000, 1000),
    (Subnets, "describe_subnets", "Subnets", 1000, _ALL),
    (SecurityGroups, "describe_security_groups", "SecurityGroups", 1000, _ALL),
    (AmisResponse, "describe_images", "Images", 1000, _ALL),
)


def install() -> None:
    """Patch moto."""
    for response, action, key, most, usual in _PAGED:
        setattr(response, action, _in_pages(getattr(response, action), key, most, usual))


def _in_pages(plain: Callable[[Any], Any], key: str, most: int, usual: int) -> Callable[[Any], Any]:
    def paged(self: Any) -> Any:
        result = plain(self).result
        return ActionResult({**result, **page(self, key, result[key], most=most, usual=usual)})

    return paged


def page(request: Any, key: str, items: Sequence[Any], *, most: int, usual: int) -> dict[str, Any]:
    """Return the page of `items` that a request asks for, with the token of the next one, if any.

    Raises:
        EC2ClientError: the request's token is not one of ours.
    """
    token = request._get_param("NextToken") or f"{_NEXT}0"
    if not token.startswith(_NEXT):
        raise EC2ClientError("InvalidParameterValue", "Unable to parse pagination token")
    start = int(token.removeprefix(_NEXT))
    asked = request._get_param("MaxResults")
    end = start + (usual if asked is None else min(int(asked), most))
    more = {"NextToken": f"{_NEXT}{end}"} if end < len(items) else {}
    return {key: list(items[start:end]), **more}
