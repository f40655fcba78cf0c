"""Launch templates in EC2: made when a call needs one, deleted when none does."""

from __future__ import annotations

import base64
import contextlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING, Final, TypeAlias

from treenail.adapters.ec2.discovery.asking import Aws, matching
from treenail.adapters.ec2.discovery.cache import unheard
from treenail.adapters.ec2.launch.tags import NODE_CLASS_TAG, specification
from treenail.adapters.ec2.launch.template import NAME_PREFIX, Template
from treenail.domain.model.errors import AlreadyExistsError, NotFoundError, PortError
from treenail.domain.model.fleets import CLUSTER_TAG
from treenail.domain.model.runtime import Clock, Log
from treenail.domain.telemetry.series import Gauges, Series
from treenail.domain.telemetry.state_metrics import USERDATA_BYTES

if TYPE_CHECKING:  # the types of answers are not there at run time
    from types_boto3_ec2.type_defs import FilterTypeDef

_UNUSED_SECONDS: Final = 1800.0
# Of a cluster without any instance, which may be about to be taken down.
_UNUSED_SECONDS_WHEN_IDLE: Final = 120.0
_MOST_DELETED_AT_ONCE: Final = 5
_MOST_MADE_AT_ONCE: Final = 8
_PAGE: Final = 200


# Shows the series about a thing, or none any more.
Show: TypeAlias = Callable[[str, Gauges | None], None]


def unseen(_about: str, _gauges: Gauges | None, /) -> None:
    """Show nothing."""


def _about(node_class: str) -> str:
    return f"user data of {node_class}"


def _size(template: Template) -> tuple[Series, ...]:
    size = len(base64.b64decode(template.data.get("UserData", "")))
    return (Series(USERDATA_BYTES, size, {"nodeclass": template.node_class}),)


class Templates:
    """Keeps the launch templates of one cluster. Threads may share it.

    A template that no call used for half an hour is deleted; where the cluster has no instances at all, it
    is after two minutes. Those that processes before this one left are found by the tag of the cluster and
    the beginning of their name. `log` is told which were made, `show` how large their user data was.
    """

    def __init__(
        self, aws: Aws, clock: Clock, cluster_name: str, log: Log = unheard, show: Show = unseen
    ) -> None:
        self._show = show
        self._aws = aws
        self._log = log
        self._clock = clock
        self._cluster_name = cluster_name
        self._lock = Lock()
        self._looking = Lock()
        self._looked = False
        # Whether the last one that was to be made could not be.
        self._refused = False
        # When each was used last, in monotonic seconds.
        self._known: dict[str, float] = {}

    def ensure(self, templates: Sequence[Template]) -> None:
        """Make those of the templates that are not there, all at once.

        Raises:
            PortError: one could not be made, or it could not be looked up which there are.
        """
        if templates:
            self._look_once()
        missing = [template for template in templates if not self._use(template.name)]
        if missing and self._refused:
            # One is enough to see whether any can be made again.
            self._make(missing.pop(0))
        if missing:
            most = min(len(missing), _MOST_MADE_AT_ONCE)
            with ThreadPoolExecutor(most, thread_name_prefix="launch-templates") as makers:
                list(makers.map(self._make, missing))

    def forget(self, names: Iterable[str]) -> None:
        """Take templates as not there: somebody deleted them."""
        with self._lock:
            for name in names:
                self._known.pop(name, None)

    def tidy(self, *, idle: bool = False) -> None:
        """Delete some of the templates that are long unused; what fails is tried again another time.

        `idle` tells that the cluster has no instances.
        """
        with contextlib.suppress(PortError):
            self._look_once()
        for name in self._unused(_UNUSED_SECONDS_WHEN_IDLE if idle else _UNUSED_SECONDS):
            try:
                self._aws.retries.call("ec2", "DeleteLaunchTemplate", partial(self._delete, name))
            except NotFoundError:
                continue  # somebody was faster
            except PortError:
                self._note(name)

    def release(self, node_class: str) -> None:
        """Delete all templates that were made for the node class of this name.

        Raises:
            PortError: one could not be deleted, or it could not be looked up which there are.
        """
        for name in list(self._look(matching(f"tag:{NODE_CLASS_TAG}", (node_class,)))):
            with contextlib.suppress(NotFoundError):  # somebody was faster
                self._aws.retries.call("ec2", "DeleteLaunchTemplate", partial(self._delete, name))
            self.forget((name,))
        self._show(_about(node_class), None)

    def _look_once(self) -> None:
        with self._looking:
            if not self._looked:
                for name in list(self._look()):
                    self._note(name)
                self._looked = True

    def _look(self, *filters: FilterTypeDef) -> Iterator[str]:
        asked = [matching(f"tag:{CLUSTER_TAG}", (self._cluster_name,)), *filters]
        ask = partial(self._aws.clients.ec2.describe_launch_templates, Filters=asked, MaxResults=_PAGE)
        for page in self._aws.pages("ec2", "DescribeLaunchTemplates", ask):
            for template in page["LaunchTemplates"]:
                name = template.get("LaunchTemplateName", "")
                if name.startswith(NAME_PREFIX):
                    yield name

    def _use(self, name: str) -> bool:
        """Return whether a template is there, and note that it is in use."""
        with self._lock:
            there = name in self._known
            if there:
                self._known[name] = self._clock.monotonic()
            return there

    def _note(self, name: str) -> None:
        with self._lock:
            self._known[name] = self._clock.monotonic()

    def _make(self, template: Template) -> None:
        try:
            self._create(template)
        except PortError:
            self._refused = True
            raise
        self._refused = False
        self._note(template.name)

    def _create(self, template: Template) -> None:
        # Told even where EC2 refuses it, which it does for its size.
        self._show(_about(template.node_class), partial(_size, template))
        create = partial(
            self._aws.clients.ec2.create_launch_template,
            LaunchTemplateName=template.name,
            LaunchTemplateData=template.data,
            TagSpecifications=[specification("launch-template", template.tags)],
        )
        with contextlib.suppress(AlreadyExistsError):  # by its name it is this very one
            self._aws.retries.call("ec2", "CreateLaunchTemplate", create)
            self._log(
                "created launch template",
                logger="controller.provisioner.cloudprovider",
                launch_template_name=template.name,
            )

    def _unused(self, seconds: float) -> tuple[str, ...]:
        with self._lock:
            long_ago = self._clock.monotonic() - seconds
            old = sorted(name for name, used_at in self._known.items() if used_at <= long_ago)
            for name in old[:_MOST_DELETED_AT_ONCE]:
                del self._known[name]
            return tuple(old[:_MOST_DELETED_AT_ONCE])

    def _delete(self, name: str) -> object:
        return self._aws.clients.ec2.delete_launch_template(LaunchTemplateName=name)
