"""Launch templates: the errors EC2 gives for those that are missing, pages, and client tokens."""

from __future__ import annotations

from typing import Any, Final

from moto.core.responses import ActionResult
from moto.ec2.exceptions import EC2ClientError
from moto.ec2.models.launch_templates import LaunchTemplateBackend
from moto.ec2.responses.launch_templates import LaunchTemplates

from tests.real.lab.paging import page
from tests.real.lab.tokens import Tokens

_MOST: Final = 200


def install(tokens: Tokens) -> None:
    """Patch moto."""
    create, delete = LaunchTemplates.create_launch_template, LaunchTemplateBackend.delete_launch_template
    describe = LaunchTemplateBackend.describe_launch_templates

    def create_launch_template(self: Any) -> Any:
        return tokens.once(self, lambda: create(self))

    def delete_launch_template(self: Any, name: str, tid: str | None) -> Any:
        _check(self, [name] if name else [], [tid] if tid else [])
        return delete(self, name, tid)

    def describe_launch_templates(
        self: Any,
        template_names: list[str] | None = None,
        template_ids: list[str] | None = None,
        filters: Any = None,
    ) -> Any:
        _check(self, template_names or [], template_ids or [])
        return describe(self, template_names, template_ids, filters)

    def describe_action(self: Any) -> Any:
        self.error_on_dryrun()
        templates = self.ec2_backend.describe_launch_templates(
            template_names=self._get_param("LaunchTemplateNames", []),
            template_ids=self._get_param("LaunchTemplateIds", []),
            filters=self._filters_from_querystring(),
        )
        told = [_told(template, self) for template in templates]
        return ActionResult(page(self, "LaunchTemplates", told, most=_MOST, usual=_MOST))

    LaunchTemplates.create_launch_template = create_launch_template
    LaunchTemplates.describe_launch_templates = describe_action
    LaunchTemplateBackend.delete_launch_template = delete_launch_template
    LaunchTemplateBackend.describe_launch_templates = describe_launch_templates


def _check(backend: Any, names: list[str], ids: list[str]) -> None:
    for name in names:
        if name not in backend.launch_template_name_to_ids:
            message = f"At least one of the launch templates specified in the request does not exist: {name}."
            raise EC2ClientError("InvalidLaunchTemplateName.NotFoundException", message)
    for template_id in ids:
        if template_id not in backend.launch_templates:
            message = f"The specified launch template, with template ID {template_id}, does not exist."
            raise EC2ClientError("InvalidLaunchTemplateId.NotFound", message)


def _told(template: Any, request: Any) -> dict[str, Any]:
    return {
        "CreateTime": template.create_time,
        "CreatedBy": f"arn:{request.partition}:iam::{request.current_account}:root",
        "DefaultVersionNumber": template.default_version_number,
        "LatestVersionNumber": template.latest_version_number,
        "LaunchTemplateId": template.id,
        "LaunchTemplateName": template.name,
        "Tags": template.get_tags(),
    }
