"""Instance profiles in IAM, one call at a time through `CallRetries`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any

from treenail.adapters.ec2.call_errors import message_of
from treenail.adapters.ec2.discovery.asking import Aws
from treenail.adapters.ec2.launch.tags import written
from treenail.domain.model.errors import NotFoundError, UnavailableError


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredProfile:
    """An instance profile as IAM has it, with one role at most."""

    name: str
    path: str
    roles: tuple[str, ...]
    created_at: datetime


class Iam:
    """The calls about instance profiles. Each may be made twice, and raises what `CallRetries` does."""

    def __init__(self, aws: Aws) -> None:
        self._aws = aws

    def get(self, name: str) -> StoredProfile | None:
        """Return a profile; None where it is not there, or not to be seen yet."""
        ask = partial(self._aws.clients.iam.get_instance_profile, InstanceProfileName=name)
        try:
            answer = self._aws.retries.call("iam", "GetInstanceProfile", ask)
        except NotFoundError:
            return None
        return _stored(answer["InstanceProfile"])

    def create(self, name: str, *, path: str, tags: Mapping[str, str]) -> None:
        """Make a profile; AlreadyExistsError where it is there."""
        make = partial(
            self._aws.clients.iam.create_instance_profile,
            InstanceProfileName=name,
            Path=path,
            Tags=[{"Key": tag["Key"], "Value": tag["Value"]} for tag in written(tags)],
        )
        self._aws.retries.call("iam", "CreateInstanceProfile", make)

    def add_role(self, name: str, role: str) -> bool:
        """Add a role to a profile; return whether there is such a role.

        Raises:
            UnavailableError: also where the profile, which was just made, is not to be seen yet.
        """
        add = partial(
            self._aws.clients.iam.add_role_to_instance_profile, InstanceProfileName=name, RoleName=role
        )
        try:
            self._aws.retries.call("iam", "AddRoleToInstanceProfile", add)
        except NotFoundError as error:
            # IAM has one code for both, and says in the text which of them it does not find.
            if "role" in message_of(error).lower().replace(name.lower(), ""):
                return False
            raise UnavailableError(f"the instance profile {name} is not to be seen yet") from error.__cause__
        return True

    def remove_role(self, name: str, role: str) -> None:
        """Remove a role from a profile; one that is gone does not matter."""
        remove = partial(
            self._aws.clients.iam.remove_role_from_instance_profile, InstanceProfileName=name, RoleName=role
        )
        self._forgiving("RemoveRoleFromInstanceProfile", remove)

    def delete(self, profile: StoredProfile) -> None:
        """Delete a profile, which must give its role back first; one that is gone does not matter."""
        for role in profile.roles:
            self.remove_role(profile.name, role)
        delete = partial(self._aws.clients.iam.delete_instance_profile, InstanceProfileName=profile.name)
        self._forgiving("DeleteInstanceProfile", delete)

    def below(self, path: str) -> Iterator[StoredProfile]:
        """Yield the profiles whose path begins with `path`."""
        page: dict[str, str] = {"PathPrefix": path}
        while True:
            ask = partial(self._aws.clients.iam.list_instance_profiles, **page)
            answer = self._aws.retries.call("iam", "ListInstanceProfiles", ask)
            found = (_stored(one) for one in answer["InstanceProfiles"])
            yield from (one for one in found if one.path.startswith(path))
            marker = answer.get("Marker", "")
            if not answer.get("IsTruncated") or not marker:
                return
            if marker == page.get("Marker"):
                raise UnavailableError("iam:ListInstanceProfiles gives the same page again and again")
            page["Marker"] = marker

    def _forgiving(self, action: str, call: partial[object]) -> None:
        try:
            self._aws.retries.call("iam", action, call)
        except NotFoundError:
            return


def _stored(found: Mapping[str, Any]) -> StoredProfile:
    return StoredProfile(
        name=found["InstanceProfileName"],
        path=found["Path"],
        roles=tuple(role["RoleName"] for role in found.get("Roles", ())),
        created_at=found["CreateDate"],
    )
