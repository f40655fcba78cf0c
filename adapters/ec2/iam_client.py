"""The calls to IAM that are used."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol


class IamClient(Protocol):
    """The calls about instance profiles, as boto3's client makes them."""

    def get_instance_profile(self, *, InstanceProfileName: str) -> Mapping[str, Any]: ...  # noqa: N803
    def create_instance_profile(
        self,
        *,
        InstanceProfileName: str,  # noqa: N803
        Path: str,  # noqa: N803
        Tags: Sequence[Mapping[str, str]],  # noqa: N803
    ) -> Mapping[str, Any]: ...
    def delete_instance_profile(self, *, InstanceProfileName: str) -> object: ...  # noqa: N803
    def add_role_to_instance_profile(self, *, InstanceProfileName: str, RoleName: str) -> object: ...  # noqa: N803
    def remove_role_from_instance_profile(self, *, InstanceProfileName: str, RoleName: str) -> object: ...  # noqa: N803
    def list_instance_profiles(self, **page: str) -> Mapping[str, Any]: ...
