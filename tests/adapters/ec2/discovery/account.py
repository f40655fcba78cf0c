"""An AWS account that answers what it is told to, in shapes botocore accepts."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, Self

import boto3
from botocore.stub import ANY, Stubber

from tests.adapters.ec2.refusals import SleptTime
from tests.probes import PlainDice
from treenail.adapters.ec2.call_retries import CallRetries
from treenail.adapters.ec2.clients import Clients
from treenail.adapters.ec2.discovery.asking import Aws
from treenail.adapters.ec2.discovery.cache import AnswerCaches
from treenail.domain.model.node_classes import AmiFamily, NodeClass, NodeClassRef, SelectorTerm

REF = NodeClassRef("karpenter.k8s.aws", "EC2NodeClass", "default")
CLUSTER_TAG = SelectorTerm(tags=(("karpenter.sh/discovery", "demo"),))


@cache
def clients(region: str = "us-east-1") -> Clients:
    """Make clients that are never used unstubbed: reading botocore's models takes its time."""
    session = boto3.Session(aws_access_key_id="key", aws_secret_access_key="secret")  # noqa: S106
    return Clients.open(session=session, region=region)


class Account:
    """Answers in the order it was told to; a test fails where a call is one too many, or is missing."""

    def __init__(self, region: str = "us-east-1") -> None:
        self.time = SleptTime()
        self.lines: list[tuple[str, Mapping[str, object]]] = []
        own = clients(region)
        self.aws = Aws(own, CallRetries(self.time, PlainDice(), sleep=self.time.sleep))
        self.caches = AnswerCaches(self.time, PlainDice(), self._log)
        self._stubs = {name: Stubber(getattr(own, name)) for name in ("ec2", "ssm", "pricing", "eks", "iam")}

    def _log(self, message: str, /, **fields: object) -> None:
        self.lines.append((message, fields))

    def answers(self, call: str, answer: dict[str, Any], **asked: Any) -> None:
        """Answer `call`, such as "ec2.describe_subnets"; it must be made with just the parameters `asked`."""
        service, _, method = call.partition(".")
        self._stubs[service].add_response(method, answer, asked or None)

    def refuses(
        self, call: str, code: str, *, status: int = 400, times: int = 1, message: str = "no"
    ) -> None:
        service, _, method = call.partition(".")
        for _ in range(times):
            self._stubs[service].add_client_error(method, code, message, http_status_code=status)

    def __enter__(self) -> Self:
        for stub in self._stubs.values():
            stub.activate()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        for stub in self._stubs.values():
            stub.deactivate()
        if kind is None:
            for stub in self._stubs.values():
                stub.assert_no_pending_responses()


def node_class(
    *,
    family: AmiFamily = AmiFamily.AL2023,
    images: tuple[SelectorTerm, ...] = (),
    subnets: tuple[SelectorTerm, ...] = (CLUSTER_TAG,),
    groups: tuple[SelectorTerm, ...] = (CLUSTER_TAG,),
    launch_template: str = "",
) -> NodeClass:
    return NodeClass(
        ref=REF,
        ami_family=family,
        ami_terms=images,
        subnet_terms=subnets,
        security_group_terms=groups,
        launch_template=launch_template,
    )


__all__ = ["ANY", "CLUSTER_TAG", "Account", "clients", "node_class"]
