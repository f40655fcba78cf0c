"""What launch templates and user data are expected to say."""

from __future__ import annotations

import email
from typing import Any

import yaml

from tests.conformance.stage import Stage, Step


def template_has(path: str, wanted: object) -> Step:
    """Expect what the last launch template says at a path such as "Monitoring.Enabled"; None: nothing."""

    def check(stage: Stage) -> None:
        there: Any = stage.template().data
        for step in path.split("."):
            if isinstance(there, list):
                there = there[int(step)] if int(step) < len(there) else None
            elif there is not None:
                there = there.get(step)
        assert there == wanted, stage.template().data

    return check


def boots_with(*fragments: str) -> Step:
    """Expect that the user data of the last node has all of these."""

    def check(stage: Stage) -> None:
        for one in fragments:
            assert one in stage.user_data(), stage.user_data()

    return check


def boots_without(*fragments: str) -> Step:
    """Expect that the user data of the last node has none of these."""

    def check(stage: Stage) -> None:
        for one in fragments:
            assert one not in stage.user_data(), stage.user_data()

    return check


def kubelet_config(key: str, wanted: object) -> Step:
    """Expect what the kubelet of the last node is told, by the NodeConfig in its user data."""

    def check(stage: Stage) -> None:
        (config,) = [
            part
            for part in email.message_from_string(stage.user_data()).walk()
            if part.get_content_type() == "application/node.eks.aws"
        ]
        told = yaml.safe_load(str(config.get_payload()))["spec"]["kubelet"]["config"]
        assert told.get(key) == wanted, told

    return check


def tags_have(**tags: str | None) -> Step:
    """Expect tags of all that the last launch made; None is one that is not there."""

    def check(stage: Stage) -> None:
        there = stage.requests[-1].tags
        assert {key: there.get(key) for key in tags} == tags, there
        for one in stage.template().data["TagSpecifications"]:
            known = {tag["Key"]: tag["Value"] for tag in one["Tags"]}
            assert {key: known.get(key) for key in tags} == tags, known

    return check


def templates(count: int) -> Step:
    """Expect how many launch templates differ of all launches."""

    def check(stage: Stage) -> None:
        assert len({stage.template(request).name for request in stage.requests}) == count

    return check
