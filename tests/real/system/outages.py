"""What a controller lives through: each outage takes so many seconds, and is over when it returns."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import urllib3

from tests.real.kubernetes.faults import Asked, Fault
from tests.real.kubernetes.proxy import Proxy
from tests.real.lab.lab import Lab
from tests.real.parts.control_plane import ControlPlane
from tests.real.parts.jaeger import Jaeger
from tests.real.system.controller import eventually
from treenail.adapters.kubernetes.resources import WATCHED

API_SERVER: Final = "kube-apiserver"
ETCD: Final = "etcd"


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """All that can fail around a controller."""

    plane: ControlPlane
    proxy: Proxy
    lab: Lab
    jaeger: Jaeger


Outage: TypeAlias = Callable[[Surroundings, float], None]


def api_server_restarted(around: Surroundings, seconds: float) -> None:
    """It ends as it does for an upgrade, and comes back."""
    around.plane.stop_part(API_SERVER)
    time.sleep(seconds)
    around.plane.start_part(API_SERVER)
    _wait_until_served(around)


def api_server_killed(around: Surroundings, seconds: float) -> None:
    around.plane.kill_part(API_SERVER)
    time.sleep(seconds)
    around.plane.start_part(API_SERVER)
    _wait_until_served(around)


def api_server_silent(around: Surroundings, seconds: float) -> None:
    """It takes connections, and answers nothing."""
    around.plane.pause_part(API_SERVER)
    try:
        time.sleep(seconds)
    finally:
        around.plane.resume_part(API_SERVER)


def etcd_restarted(around: Surroundings, seconds: float) -> None:
    around.plane.stop_part(ETCD)
    time.sleep(seconds)
    around.plane.start_part(ETCD)
    _wait_until_served(around)


def watches_cut(around: Surroundings, seconds: float) -> None:
    """All are cut every second."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        around.proxy.cut_watches()
        time.sleep(1)


def history_forgotten(around: Surroundings, seconds: float) -> None:
    """The controller is cut off while etcd is compacted and the API server forgets: it is 410 Gone."""
    with around.proxy.fault(Fault(status=503)):
        around.proxy.cut_watches()
        time.sleep(seconds)
        version = around.plane.request("GET", "/api/v1/pods?limit=1")[1]["metadata"]["resourceVersion"]
        answer = urllib3.request(
            "POST",
            f"http://127.0.0.1:{around.plane._port[ETCD]}/v3/kv/compaction",
            json={"revision": version, "physical": True},
            timeout=30,
        )
        assert answer.status == 200, answer.data
        around.plane.restart(API_SERVER)
        _wait_until_served(around)


def watches_gone(around: Surroundings, seconds: float) -> None:
    """Every watch is told 410 Gone, however new its revision."""
    with around.proxy.fault(Fault(status=410, of=_watch, told=True)):
        around.proxy.cut_watches()
        time.sleep(seconds)


def too_many_requests(around: Surroundings, seconds: float) -> None:
    """Seven of ten requests are refused with 429, and asked to come back in a second."""
    with around.proxy.fault(Fault(status=429, retry_after=1, share=0.7)):
        around.proxy.cut_watches()
        time.sleep(seconds)


def server_errors(around: Surroundings, seconds: float) -> None:
    """Half of all is answered with 500 or 503, a third of the other writes with 504, though carried out."""
    with ExitStack() as faults:
        for fault in (
            Fault(status=500, share=0.2),
            Fault(status=503, share=0.4),
            Fault(status=504, share=0.3, of=_write, carried_out=True),
        ):
            faults.enter_context(around.proxy.fault(fault))
        around.proxy.cut_watches()
        time.sleep(seconds)


def aws_away(around: Surroundings, seconds: float) -> None:
    """EC2, SQS and all others answer 503."""
    with around.lab.outage():
        time.sleep(seconds)


def aws_answers_lost(around: Surroundings, seconds: float) -> None:
    """What EC2 is asked it does, but hardly ever says so."""
    around.lab.fault("ec2", times=None, prob=0.95, after=True, cut=True)
    time.sleep(seconds)
    around.lab.clear_faults()


def ec2_throttles(around: Surroundings, seconds: float) -> None:
    """Four of five calls are refused as one too many."""
    _ec2_fails(around, seconds, code="RequestLimitExceeded", status=503, prob=0.8)


def ec2_breaks(around: Surroundings, seconds: float) -> None:
    """Most calls are answered with 500, in bursts of some seconds."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        _ec2_fails(around, min(3.0, seconds), code="InternalError", status=500, prob=0.9)
        time.sleep(1)


def ec2_slow(around: Surroundings, seconds: float) -> None:
    """Every other answer takes three seconds longer."""
    _ec2_fails(around, seconds, delay=3.0, prob=0.5)


def instances_hidden(around: Surroundings, seconds: float) -> None:
    """What is bought is not listed for a while."""
    around.lab.set_pace(hidden=seconds)
    time.sleep(seconds)
    around.lab.set_pace(hidden=0.0)


def templates_deleted(around: Surroundings, seconds: float) -> None:
    """Somebody deletes all launch templates every second."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        _delete_templates(around.lab)
        time.sleep(1)


def no_templates(around: Surroundings, seconds: float) -> None:
    """There are none, and none can be made."""
    around.lab.fault("ec2", "CreateLaunchTemplate", times=None, code="Unavailable", status=503)
    _delete_templates(around.lab)
    time.sleep(seconds)
    around.lab.clear_faults()


def profile_hidden(around: Surroundings, seconds: float) -> None:
    """EC2 does not see the instance profile, as for some seconds after it was made."""
    why = "Value (x) for parameter iamInstanceProfile.name is invalid. Invalid IAM Instance Profile name"
    around.lab.fault("ec2", "CreateFleet", times=None, code="InvalidParameterValue", message=why)
    time.sleep(seconds)
    around.lab.clear_faults()


def queue_gone(around: Surroundings, seconds: float) -> None:
    """The queue is deleted with all that is in it, and made anew."""
    sqs, url = around.lab.client("sqs"), around.lab.estate["queue_url"]
    sqs.delete_queue(QueueUrl=url)
    time.sleep(seconds)
    sqs.create_queue(QueueName=url.rpartition("/")[2])


def _ec2_fails(around: Surroundings, seconds: float, **rule: Any) -> None:
    around.lab.fault("ec2", times=None, **rule)
    time.sleep(seconds)
    around.lab.clear_faults()


def _delete_templates(lab: Lab) -> None:
    ec2 = lab.client("ec2", retries={"total_max_attempts": 5})
    for template in ec2.describe_launch_templates()["LaunchTemplates"]:
        ec2.delete_launch_template(LaunchTemplateId=template["LaunchTemplateId"])


def collector_away(around: Surroundings, seconds: float) -> None:
    around.jaeger.stop_part()
    time.sleep(seconds)
    around.jaeger.start_part()


def collector_silent(around: Surroundings, seconds: float) -> None:
    """It takes connections, and answers nothing."""
    around.jaeger.pause_part()
    try:
        time.sleep(seconds)
    finally:
        around.jaeger.resume_part()


def _wait_until_served(around: Surroundings) -> None:
    """Wait for all resources: an API server that calls itself ready has yet to look for those we define."""
    paths = [resource.path() for resource in WATCHED]
    eventually(
        lambda: all(around.plane.request("GET", f"{path}?limit=1")[0] == 200 for path in paths),
        "the API server does not serve everything",
    )


def _watch(asked: Asked) -> bool:
    return asked.is_watch


def _write(asked: Asked) -> bool:
    return asked.is_write
