"""Errors that calls to the outside fail with, as the ports document them."""

from __future__ import annotations


class PortError(Exception):
    """A call to the outside failed in a way its port documents."""


class NotFoundError(PortError):
    """The object is not there (any more)."""


class AlreadyExistsError(PortError):
    """An object of this name is there already."""


class ConflictError(PortError):
    """A precondition (resourceVersion, uid) did not hold: the object has changed."""


class InvalidError(PortError):
    """The object or request is refused for its content; a retry would not help."""


class TooManyRequestsError(PortError):
    """Refused for now: a disruption budget, or a rate limit. Nothing was done."""


class NoPermitError(TooManyRequestsError):
    """Our own limit on calls gave no permit in time. Nothing was sent."""


class UnavailableError(PortError):
    """No answer. The call may or may not have been carried out."""


class NotLeadingError(UnavailableError):
    """A change is refused because this replica does not hold the lease. Nothing was sent."""


class NodeClassNotReadyError(PortError):
    """The node class cannot be launched from: it is missing, or its subnets, groups or images are.

    `selector` ("subnets") is what finds none, `reason` ("SubnetsNotFound") the condition's; "" where unknown.
    """

    def __init__(self, problem: str, *, selector: str = "", reason: str = "") -> None:
        super().__init__(problem)
        self.selector = selector
        self.reason = reason
