"""What discovery finds in the laboratory, in time that passes only where a test says so."""

from __future__ import annotations

from collections.abc import Mapping

from tests.adapters.ec2.refusals import SleptTime
from tests.probes import PlainDice
from tests.real.ec2.clouds import clients_of
from tests.real.lab.lab import Lab
from treenail.adapters.ec2.call_retries import CallRetries
from treenail.adapters.ec2.discovery.asking import Aws
from treenail.adapters.ec2.discovery.cache import AnswerCaches
from treenail.adapters.ec2.discovery.cluster import Cluster, ClusterIdentity
from treenail.adapters.ec2.live_catalogue import LiveCatalogue
from treenail.domain.model.node_classes import AmiFamily, NodeClass, NodeClassRef, SelectorTerm

DISCOVERY = SelectorTerm(tags=(("karpenter.sh/discovery", "lab"),))


class Account:
    """The laboratory's account, as a process that just started knows it."""

    def __init__(self, lab: Lab, *, kubernetes: str = "v1.34.2") -> None:
        self.lab = lab
        self.time = SleptTime()
        self.lines: list[tuple[str, Mapping[str, object]]] = []
        self.aws = Aws(clients_of(lab), CallRetries(self.time, PlainDice(), sleep=self.time.sleep))
        self.caches = AnswerCaches(self.time, PlainDice(), self._log)
        self.cluster = Cluster(self.aws, self.caches, ClusterIdentity(name=lab.cluster), lambda: kubernetes)
        self.catalogue = LiveCatalogue(self.aws, self.caches, self.cluster)

    def _log(self, message: str, /, **fields: object) -> None:
        self.lines.append((message, fields))


def node_class(
    *images: SelectorTerm,
    family: AmiFamily = AmiFamily.AL2023,
    subnets: tuple[SelectorTerm, ...] = (DISCOVERY,),
    groups: tuple[SelectorTerm, ...] = (DISCOVERY,),
) -> NodeClass:
    return NodeClass(
        ref=NodeClassRef("karpenter.k8s.aws", "EC2NodeClass", "default"),
        ami_family=family,
        ami_terms=images,
        subnet_terms=subnets,
        security_group_terms=groups,
    )
