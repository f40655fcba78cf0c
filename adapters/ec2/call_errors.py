"""Errors of AWS calls, translated to the errors of the ports."""

from __future__ import annotations

import re
from typing import Final

from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    ConnectionError,  # noqa: A004 (its name)
    CredentialRetrievalError,
    HTTPClientError,
    InvalidIMDSEndpointError,
    LoginError,
    MetadataRetrievalError,
    NoAuthTokenError,
    NoCredentialsError,
    ParamValidationError,
    PartialCredentialsError,
    RefreshWithMFAUnsupportedError,
    SSOError,
    TokenRetrievalError,
    UnknownCredentialError,
)
from botocore.parsers import ResponseParserError

from treenail.domain.model.errors import (
    AlreadyExistsError,
    InvalidError,
    NotFoundError,
    PortError,
    TooManyRequestsError,
    UnavailableError,
)

# What a call to AWS may raise that says something of the call and not of our code.
CallError = ClientError | BotoCoreError | ResponseParserError

_THROTTLED: Final = frozenset(
    {
        "BandwidthLimitExceeded",
        "EC2ThrottledException",
        "PriorRequestNotComplete",
        "RequestLimitExceeded",
        "RequestThrottled",
        "RequestThrottledException",
        "SlowDown",
        "ThrottledException",
        "Throttling",
        "ThrottlingException",
        "TooManyRequestsException",
    }
)
_DOWN: Final = frozenset(
    {
        "InternalError",
        "InternalFailure",
        "InternalServerError",
        "RequestTimeout",
        "RequestTimeoutException",
        "ServiceUnavailable",
        "ServiceUnavailableException",
        "Unavailable",
    }
)
# Our credentials are not (or no longer) taken: no call would do better until they are renewed.
_CREDENTIALS: Final = frozenset(
    {
        "AuthFailure",
        "ExpiredToken",
        "ExpiredTokenException",
        "IDPCommunicationError",
        "IncompleteSignature",
        "InvalidClientTokenId",
        "InvalidIdentityToken",
        "InvalidToken",
        "MissingAuthenticationToken",
        "RequestExpired",
        "SignatureDoesNotMatch",
        "UnrecognizedClientException",
    }
)
_NO_CREDENTIALS: Final = (
    CredentialRetrievalError,
    InvalidIMDSEndpointError,
    LoginError,
    MetadataRetrievalError,
    NoAuthTokenError,
    NoCredentialsError,
    PartialCredentialsError,
    RefreshWithMFAUnsupportedError,
    SSOError,
    TokenRetrievalError,
    UnknownCredentialError,
)
# The calls of STS by which botocore gets credentials, before it makes the call that was asked for.
_GETTING_CREDENTIALS: Final = "AssumeRole"
_NO_ANSWER: Final = (ConnectionError, HTTPClientError, ResponseParserError)
_SERVER_ERRORS: Final = range(500, 600)
_TOO_MANY: Final = 429
# EC2 appends a long blob to what it says of missing permissions.
_ENCODED: Final = re.compile(r"\s*Encoded authorization failure message: \S+")
_LONGEST: Final = 500


class AwsRefusalError(Exception):
    """A refusal of AWS, as the cause of a PortError: the code, and the text without anything secret."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message


def code_of(error: PortError) -> str:
    """Return the AWS code behind an error that `CallRetries` raised, "" where there was no answer."""
    cause = error.__cause__
    return cause.code if isinstance(cause, AwsRefusalError) else ""


def message_of(error: PortError) -> str:
    """Return the text AWS gave for an error that `CallRetries` raised, without the code."""
    cause = error.__cause__
    return cause.message if isinstance(cause, AwsRefusalError) else str(error)


def port_error(error: CallError, *, service: str, action: str) -> PortError | None:
    """Return a failed call as an error of the ports; None where the failure is a defect of ours.

    Missing permissions are an InvalidError: this call will not be granted as it is, so whoever made it
    had better do something else, and others need not suffer. Credentials that are not taken are an
    UnavailableError: nothing about the call is wrong, it will be good again when they are renewed, and
    nobody may conclude from it that earlier attempts of the call came to nothing.
    """
    if isinstance(error, ClientError):
        if error.operation_name.startswith(_GETTING_CREDENTIALS):
            code = error.response.get("Error", {}).get("Code", "")
            return UnavailableError(f"no credentials for {service}:{action} ({error.operation_name}: {code})")
        return _refused(error, f"{service}:{action}")
    if isinstance(error, _NO_CREDENTIALS):
        return UnavailableError(f"no credentials for {service}:{action} ({type(error).__name__})")
    if isinstance(error, _NO_ANSWER):
        return UnavailableError(f"no answer to {service}:{action} ({type(error).__name__})")
    if isinstance(error, ParamValidationError):
        return InvalidError(f"{service}:{action}: {_short(str(error))}")
    return None


def _refused(error: ClientError, call: str) -> PortError:
    said = error.response.get("Error", {})
    status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    code = said.get("Code", "") or str(status)
    # Of a signature that does not match, AWS tells what it was computed from: the session token too.
    message = "the credentials are not accepted" if code in _CREDENTIALS else _short(said.get("Message", ""))
    kind = _kind(code, status)
    mapped = kind(f"{code}: {message} ({call})" if message else f"{code} ({call})")
    mapped.__cause__ = AwsRefusalError(code, message)
    return mapped


def _kind(code: str, status: int) -> type[PortError]:
    if code in _THROTTLED or status == _TOO_MANY:
        return TooManyRequestsError
    if code in _CREDENTIALS or code in _DOWN or status in _SERVER_ERRORS:
        return UnavailableError
    if "NotFound" in code or code == "NoSuchEntity":
        return NotFoundError
    if "AlreadyExists" in code:
        return AlreadyExistsError
    return InvalidError


def worth_repeating(error: PortError) -> bool:
    """Return whether the same call may do better in a moment."""
    if isinstance(error, TooManyRequestsError):
        return True
    return isinstance(error, UnavailableError) and code_of(error) not in _CREDENTIALS


def _short(text: str) -> str:
    return _ENCODED.sub("", text)[:_LONGEST]
