"""Turns instances that run into Nodes, as their kubelets would: KWOK then plays the kubelets.

As a process: python -m tests.real.lab.joiner ENDPOINT KUBECONFIG [--region R] [--boot-seconds S].
"""

from __future__ import annotations

import argparse
import base64
import json
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, Protocol

import boto3
from botocore.exceptions import BotoCoreError, ClientError

from tests.real.lab.images import windows_releases
from tests.real.lab.machine_nodes import Machine
from tests.real.lab.user_data import orders_of
from tests.real.parts.objects import MERGE
from treenail.adapters.kubernetes.connection import Connection
from treenail.domain.model.errors import AlreadyExistsError, NotFoundError, PortError

NODES: Final = "/api/v1/nodes"
PODS: Final = "/api/v1/pods"
WOKEN: Final = "test.treenail.sh/woken"
SILENT: Final = "test.treenail.sh/silent"
_LIVE: Final = {"Name": "instance-state-name", "Values": ["pending", "running"]}


class Api(Protocol):
    """The API server, as `treenail.adapters.kubernetes.connection.Connection` reaches it."""

    def request(
        self, method: str, path: str, *, body: bytes | None = None, content_type: str = "application/json"
    ) -> bytes: ...


class Joiner:
    """Looks after all instances of an account. A machine joins `boot_seconds` after it runs.

    The node of a machine that ended is left there, silent, as it is when a machine dies; with
    `deletes_nodes` it is deleted, as the cloud controller manager does it after a while. Instances in
    `broken` never join.
    """

    def __init__(
        self,
        ec2: Any,
        api: Api,
        *,
        boot_seconds: float = 0.0,
        deletes_nodes: bool = False,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._ec2 = ec2
        self._api = api
        self.boot_seconds = boot_seconds
        self._deletes_nodes = deletes_nodes
        self._monotonic = monotonic
        self._boots: dict[str, float] = {}
        self._joined: dict[str, str] = {}
        self.broken: set[str] = set()

    def tick(self) -> None:
        """See what runs and what ended since, once. Raises what EC2 and the API server do."""
        now = self._monotonic()
        live = self._live()
        for instance_id in sorted(set(self._joined) - set(live)):
            self._leave(self._joined[instance_id])
            del self._joined[instance_id]
        for instance_id, described in sorted(live.items()):
            if described["State"]["Name"] != "running" or instance_id in self._joined:
                continue
            if now - self._boots.setdefault(instance_id, now) >= self.boot_seconds:
                self._join(described)

    def run(self, stopping: threading.Event, *, every: float = 0.4) -> None:
        """Tick until told to stop; what does not answer is asked again."""
        while not stopping.wait(every):
            try:
                self.tick()
            except (PortError, ClientError, BotoCoreError):
                continue

    def _live(self) -> dict[str, Mapping[str, Any]]:
        pages = self._ec2.get_paginator("describe_instances").paginate(Filters=[_LIVE])
        return {i["InstanceId"]: i for page in pages for r in page["Reservations"] for i in r["Instances"]}

    def _join(self, described: Mapping[str, Any]) -> None:
        if described["InstanceId"] in self.broken:
            return
        orders = orders_of(self._user_data(described["InstanceId"]))
        if orders.family.windows != (described["ImageId"] in windows_releases()):
            return  # it does not understand what it is told
        machine = Machine.of(described, orders)
        try:
            self._send("POST", NODES, machine.node())
        except AlreadyExistsError:
            if not self._may_take_over(machine):
                return  # its address was another's, whose node has yet to go
            # The status first: KWOK gives a node that has none a size of its own, once it is to play it.
            self._patch(machine.name, {"status": machine.status()}, "/status")
            self._patch(machine.name, machine.adoption())
            self._wake_pods(machine.name)
        self._joined[machine.id] = machine.name

    def _may_take_over(self, machine: Machine) -> bool:
        """Return whether the node of a machine's name was made for it."""
        try:
            there = json.loads(self._api.request("GET", f"{NODES}/{machine.name}"))
        except NotFoundError:
            return False
        own = there.get("spec", {}).get("providerID", machine.provider_id) == machine.provider_id
        return own and "deletionTimestamp" not in there["metadata"]

    def _wake_pods(self, node: str) -> None:
        """Touch the pods that were bound before: KWOK looks at those of a new node only, a kubelet at all."""
        self._mark_pods(node, WOKEN)

    def _mark_pods(self, node: str, annotation: str) -> None:
        bound = json.loads(self._api.request("GET", f"{PODS}?fieldSelector=spec.nodeName%3D{node}"))
        for pod in bound["items"]:
            where = f"/api/v1/namespaces/{pod['metadata']['namespace']}/pods/{pod['metadata']['name']}"
            with suppress(NotFoundError):
                self._send("PATCH", where, {"metadata": {"annotations": {annotation: ""}}}, MERGE)

    def _leave(self, name: str) -> None:
        try:
            if self._deletes_nodes:
                self._send("DELETE", f"{NODES}/{name}")
            else:
                self._patch(name, {"metadata": {"annotations": {SILENT: ""}}})
                self._mark_pods(name, SILENT)
        except NotFoundError:
            pass

    def _user_data(self, instance_id: str) -> str:
        answer = self._ec2.describe_instance_attribute(InstanceId=instance_id, Attribute="userData")
        return base64.b64decode(answer.get("UserData", {}).get("Value", "")).decode()

    def _patch(self, name: str, change: object, subresource: str = "") -> None:
        self._send("PATCH", f"{NODES}/{name}{subresource}", change, MERGE)

    def _send(
        self, method: str, path: str, body: object = None, content_type: str = "application/json"
    ) -> None:
        data = None if body is None else json.dumps(body).encode()
        self._api.request(method, path, body=data, content_type=content_type)


def main() -> None:
    """Run until killed."""
    parser = argparse.ArgumentParser(prog="python -m tests.real.lab.joiner")
    parser.add_argument("endpoint")
    parser.add_argument("kubeconfig", type=Path)
    parser.add_argument("--region", default="us-east-1")
    parser.add_argument("--boot-seconds", type=float, default=0.0)
    given = parser.parse_args()
    ec2 = boto3.client("ec2", endpoint_url=given.endpoint, region_name=given.region)
    api = Connection.open(kubeconfig=given.kubeconfig, qps=100, burst=200)
    Joiner(ec2, api, boot_seconds=given.boot_seconds).run(threading.Event())


if __name__ == "__main__":
    main()
