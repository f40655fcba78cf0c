"""Events as manifests."""

from __future__ import annotations

import hashlib
from datetime import datetime
from typing import Final

from treenail.adapters.api.kinds import KINDS
from treenail.adapters.api.written.parts import Tree, said, time
from treenail.domain.model.events import ClusterEvent

_COMPONENT: Final = "treenail"


def event_manifest(
    event: ClusterEvent, *, first: datetime | None = None, last: datetime | None = None, count: int = 1
) -> Tree:
    """Write a v1 Event that was seen `count` times between `first` and `last`.

    Its name follows from its content, so that equal events are one object. Events about objects without a
    namespace are in "default".
    """
    about = event.about
    namespace = about.namespace or "default"
    text = "\n".join((about.kind, about.uid, event.reason, event.message, str(event.warning)))
    digest = hashlib.blake2b(text.encode(), digest_size=8).hexdigest()
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": f"{about.name}.{digest}", "namespace": namespace},
        "involvedObject": said(
            apiVersion=next((k.api_version for k in KINDS.values() if k.name == about.kind), ""),
            kind=about.kind,
            namespace=about.namespace,
            name=about.name,
            uid=about.uid,
        ),
        "type": "Warning" if event.warning else "Normal",
        "reason": event.reason,
        "message": event.message,
        "count": count,
        "source": {"component": _COMPONENT},
        "reportingComponent": _COMPONENT,
        **said(firstTimestamp=time(first), lastTimestamp=time(last or first)),
    }
