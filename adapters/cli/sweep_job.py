"""A sweep as a Kubernetes Job: each pod rehearses a share of the seeds and logs its results."""

from __future__ import annotations

from typing import Any, Final

from treenail.adapters.api.written.parts import Tree
from treenail.adapters.api.written.yaml_text import yaml_text
from treenail.adapters.cli.problems import BadInputError
from treenail.adapters.cli.sweep_files import SweepFiles
from treenail.adapters.cli.sweep_shares import SweepHeader

_FOLDER: Final = "/sweep"
# What the API server lets a ConfigMap hold.
_MOST_BYTES: Final = 1024 * 1024
# A rehearsal has one thread; its size grows with the pods and nodes of the manifests.
_REQUESTS: Final = {"cpu": "1", "memory": "512Mi"}
_BAD_INPUT: Final = 2


def job_text(header: SweepHeader, files: SweepFiles, shares: int, image: str) -> str:
    """Return the ConfigMap and the Job as YAML, below comments on how to run them.

    Raises:
        BadInputError: the files are too large for a ConfigMap, or are no text.
    """
    name = f"treenail-sweep-{header.digest[:8]}-{header.first}-{header.last}"
    selector = f"-l batch.kubernetes.io/job-name={name}"
    comments = (
        "kubectl create -f THIS-FILE",
        f"kubectl wait --for=condition=complete --timeout=1h job/{name}",
        f"kubectl logs {selector} --tail=-1 > results",
        "treenail sweep --merge results",
    )
    documents = (_config_map(name, files), _job(name, header, files, shares, image))
    return "".join(f"# {line}\n" for line in comments) + "---\n".join(yaml_text(d, {}) for d in documents)


def _config_map(name: str, files: SweepFiles) -> Tree:
    size = sum(len(content) for content in files.contents.values())
    if size > _MOST_BYTES:
        raise BadInputError(
            f"--kubernetes: the files take {size:,} bytes, a ConfigMap {_MOST_BYTES:,} at most"
        )
    data: dict[str, str] = {}
    for number, (path, content) in enumerate(files.contents.items()):
        try:
            data[f"file-{number}"] = content.decode()
        except UnicodeDecodeError:
            raise BadInputError(f"--kubernetes: {path} is not UTF-8, as a ConfigMap has to be") from None
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def _job(name: str, header: SweepHeader, files: SweepFiles, shares: int, image: str) -> Tree:
    items = [{"key": f"file-{number}", "path": path} for number, path in enumerate(files.contents)]
    pod = {
        "restartPolicy": "Never",
        "automountServiceAccountToken": False,
        "securityContext": {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}},
        "containers": [_container(header, files, shares, image)],
        "volumes": [{"name": "files", "configMap": {"name": name, "items": items}}],
    }
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name},
        "spec": {
            "completionMode": "Indexed",
            "completions": shares,
            "parallelism": shares,
            "podFailurePolicy": {
                "rules": [
                    # Bad input stays bad; a pod whose node went is no failure of the rehearsal.
                    {"action": "FailJob", "onExitCodes": {"operator": "In", "values": [_BAD_INPUT]}},
                    {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]},
                ]
            },
            "template": {"spec": pod},
        },
    }


def _container(header: SweepHeader, files: SweepFiles, shares: int, image: str) -> dict[str, Any]:
    """Return the container; the Job's controller gives it JOB_COMPLETION_INDEX."""
    seeds = ["--seeds", f"{header.first}-{header.last}"]
    return {
        "name": "sweep",
        "image": image,
        "args": ["sweep", *files.options.arguments(), *seeds, "--shares", f"{shares}", "--processes", "1"],
        "workingDir": _FOLDER,
        "resources": {"requests": dict(_REQUESTS)},
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
        "volumeMounts": [{"name": "files", "mountPath": _FOLDER, "readOnly": True}],
    }
