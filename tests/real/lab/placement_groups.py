"""CreatePlacementGroup and DescribePlacementGroups, which moto lacks. How full one is nobody checks."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any, Final

from moto.core.responses import ActionResult
from moto.ec2.exceptions import EC2ClientError
from moto.ec2.responses import EC2Response

_UNKNOWN: Final = "InvalidPlacementGroup.Unknown"


class PlacementGroups:
    """The groups of the account, by name, as EC2 tells them."""

    def __init__(self) -> None:
        self._by_name: dict[str, dict[str, str]] = {}

    def reset(self) -> None:
        self._by_name = {}

    def install(self) -> None:
        """Patch moto."""
        groups = self

        def create_placement_group(self: Any) -> Any:
            name, strategy = self._get_param("GroupName"), self._get_param("Strategy")
            return ActionResult({"PlacementGroup": groups.create(name, strategy or "cluster")})

        def describe_placement_groups(self: Any) -> Any:
            names, ids = self._get_param("GroupNames", []), self._get_param("GroupIds", [])
            return ActionResult({"PlacementGroups": groups.described(names, ids)})

        EC2Response.create_placement_group = create_placement_group
        EC2Response.describe_placement_groups = describe_placement_groups

    def create(self, name: str, strategy: str) -> dict[str, str]:
        number = hashlib.sha256(name.encode()).hexdigest()[:17]
        made = {"GroupName": name, "GroupId": f"pg-{number}", "Strategy": strategy, "State": "available"}
        self._by_name[name] = made
        return made

    def launched(self, placement: Mapping[str, Any], instance: Any) -> None:
        """Have an instance be in the group that its launch template names, if it does."""
        if group := placement.get("GroupId", ""):
            (found,) = self.described([], [group])
            instance.placement.group_id, instance.placement.group_name = group, found["GroupName"]

    def described(self, names: list[str], ids: list[str]) -> list[dict[str, str]]:
        """Return the groups of these names or ids, or all; one that is not there is an error, as in EC2."""
        known = {**self._by_name, **{group["GroupId"]: group for group in self._by_name.values()}}
        for asked in (*names, *ids):
            if asked not in known:
                raise EC2ClientError(_UNKNOWN, f"The Placement Group '{asked}' is unknown.")
        found = [known[asked] for asked in (*names, *ids)]
        return found or sorted(self._by_name.values(), key=lambda group: group["GroupName"])
