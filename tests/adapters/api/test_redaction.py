from __future__ import annotations

import json
from typing import Any, Final

import pytest

from treenail.adapters.api.snapshot.redaction import redacted

PLANTED: Final = "hunter2"
NOTED: Final = {"kubectl.kubernetes.io/last-applied-configuration": PLANTED, "example.com/token": PLANTED}
META: Final = {
    "name": "a",
    "namespace": "n",
    "uid": "u",
    "annotations": NOTED,
    "managedFields": [{"x": PLANTED}],
}
CONTAINER: Final = {
    "name": "c",
    "image": PLANTED,
    "command": [PLANTED],
    "args": [PLANTED],
    "env": [{"name": "PASSWORD", "value": PLANTED}],
    "ports": [{"name": PLANTED, "containerPort": 80}],
}
CLAIM: Final = {
    "metadata": {"name": "d", "annotations": NOTED},
    "spec": {"volumeAttributesClassName": PLANTED},
}
POD: Final = {
    "containers": [CONTAINER],
    "initContainers": [CONTAINER],
    "ephemeralContainers": [CONTAINER],
    "volumes": [
        {"name": "a", "csi": {"driver": "d", "volumeAttributes": {"password": PLANTED}}},
        {"name": "b", "flexVolume": {"driver": "d", "options": {"password": PLANTED}}},
        {"name": "c", "ephemeral": {"volumeClaimTemplate": CLAIM}},
    ],
    "dnsConfig": {"searches": [PLANTED]},
}
TEMPLATE: Final = {"metadata": {"labels": {"a": "b"}, "annotations": NOTED}, "spec": POD}
TO_ITS_END: Final = {**TEMPLATE, "spec": {**POD, "restartPolicy": "Never"}}
SELECTOR: Final = {"matchLabels": {"a": "b"}}
TOLD: Final = {"conditions": [{"type": "Ready", "status": "False", "reason": "No", "message": PLANTED}]}
CLASS: Final = {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "a"}
TERMS: Final = {
    "amiSelectorTerms": [{"alias": "al2023@latest"}],
    "subnetSelectorTerms": [{"id": "subnet-1"}],
    "securityGroupSelectorTerms": [{"id": "sg-1"}],
    "role": "r",
}


@pytest.mark.parametrize(
    ("api_version", "kind", "content"),
    [
        ("v1", "Pod", {"spec": POD, "status": {"phase": "Running", "message": PLANTED, **TOLD}}),
        ("v1", "PodTemplate", {"template": TEMPLATE}),
        ("v1", "Node", {"spec": {}, "status": {**TOLD, "images": [{"names": [PLANTED]}]}}),
        ("v1", "PersistentVolume", {"spec": {"csi": {"driver": "d", "volumeAttributes": {"p": PLANTED}}}}),
        (
            "v1",
            "ResourceQuota",
            {"spec": {"hard": {"cpu": "1"}}, "status": {"used": {"cpu": "1"}, "x": PLANTED}},
        ),
        ("apps/v1", "Deployment", {"spec": {"selector": SELECTOR, "template": TEMPLATE}}),
        ("apps/v1", "DaemonSet", {"spec": {"selector": SELECTOR, "template": TEMPLATE}}),
        (
            "apps/v1",
            "StatefulSet",
            {"spec": {"selector": SELECTOR, "template": TEMPLATE, "volumeClaimTemplates": [CLAIM]}},
        ),
        ("batch/v1", "Job", {"spec": {"template": TO_ITS_END}, "status": TOLD}),
        (
            "batch/v1",
            "CronJob",
            {
                "spec": {
                    "schedule": "0 0 * * *",
                    "jobTemplate": {"metadata": {"annotations": NOTED}, "spec": {"template": TO_ITS_END}},
                }
            },
        ),
        ("storage.k8s.io/v1", "StorageClass", {"provisioner": "p", "parameters": {"password": PLANTED}}),
        ("karpenter.k8s.aws/v1", "EC2NodeClass", {"spec": {**TERMS, "userData": PLANTED}, "status": TOLD}),
        ("karpenter.k8s.aws/v1alpha1", "AWSNodeTemplate", {"spec": {"userData": PLANTED}, "status": TOLD}),
        (
            "karpenter.sh/v1",
            "NodePool",
            {"spec": {"template": {"spec": {"nodeClassRef": CLASS, "requirements": []}}}, "status": TOLD},
        ),
        (
            "karpenter.sh/v1",
            "NodeClaim",
            {"spec": {"nodeClassRef": CLASS, "requirements": []}, "status": TOLD},
        ),
        (
            "autoscaling.x-k8s.io/v1beta1",
            "CapacityBuffer",
            {"spec": {"podTemplateRef": {"name": "a"}, "replicas": 1}, "status": TOLD},
        ),
    ],
)
def test_no_kind_is_written_with_what_may_be_secret(
    api_version: str, kind: str, content: dict[str, Any]
) -> None:
    written = redacted(api_version, kind, {"metadata": META, **content})

    assert PLANTED not in json.dumps(written)


def test_a_condition_stays_without_its_message() -> None:
    written = redacted("v1", "Node", {"metadata": {"name": "a"}, "spec": {}, "status": TOLD})

    assert [*written["status"]["conditions"]] == [{"type": "Ready", "status": "False", "reason": "No"}]
