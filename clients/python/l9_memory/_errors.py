"""The one kind of error that the client raises for calls that fail."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


class L9MemoryError(Exception):
    """A call failed.

    ``code`` is one of docs/reference/errors.md (``SCOPE_DENIED``, ``INVALID_INPUT``, ``RATE_LIMITED`` …), or of the client:

    - ``UNREACHABLE``: no connection, or it broke before the whole answer was there;
    - ``TIMEOUT``: no answer within the time limit;
    - ``UNEXPECTED_ANSWER``: something answers that is not l9-memory, such as a proxy, or the answer is not what the schema says;
    - ``NOT_STARTED``: :meth:`L9Memory.embedded` could not start the server.

    After ``UNREACHABLE`` and ``TIMEOUT`` a write may have been done or not.
    """

    def __init__(
        self,
        message: str,
        *,
        code: str,
        field: str | None = None,
        sqlstate: str | None = None,
        status: int | None = None,
        retry_after: float | None = None,
        details: Mapping[str, Any] | None = None,
        errors: Sequence[Mapping[str, Any]] = (),
        data: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        #: The field that the error is about, as the request of GraphQL spells it.
        self.field = field
        self.sqlstate = sqlstate
        #: The HTTP status; None if there was no answer.
        self.status = status
        #: Seconds after which the call may succeed; None if the server did not say.
        self.retry_after = retry_after
        #: All that GraphQL says beside the message.
        self.details: Mapping[str, Any] = details or {}
        #: All errors of the answer. This one is the first.
        self.errors = errors
        #: The part of the answer that succeeded.
        self.data = data

    @property
    def hint(self) -> str | None:
        """What to do, where the server knows more than the message says."""
        return _text(self.details.get("hint"))

    @property
    def current(self) -> Mapping[str, Any] | None:
        """Of VERSION_CONFLICT: ``packet_id``, ``updated_at`` and ``content`` of what is there, if the caller may read it."""
        found = self.details.get("current")
        return found if isinstance(found, dict) else None

    @property
    def findings(self) -> Sequence[Mapping[str, Any]]:
        """Of SECRET_FOUND: ``path``, ``line``, ``column`` and ``pattern`` of what looks like a secret, never the text."""
        found = self.details.get("findings")
        return [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []

    def __str__(self) -> str:
        return f"{self.code}: {self.message}"


def error_of(errors: Sequence[Any], status: int, retry_after: float | None, data: Any) -> L9MemoryError:
    """The error that an answer of GraphQL tells of."""
    known = [error for error in errors if isinstance(error, dict)]
    first: dict[str, Any] = known[0] if known else {}
    given = first.get("extensions")
    extensions: dict[str, Any] = given if isinstance(given, dict) else {}
    told = extensions.get("retryAfterSeconds")
    if retry_after is None and isinstance(told, (int, float)) and not isinstance(told, bool) and told >= 0:
        retry_after = float(told)
    return L9MemoryError(
        _text(first.get("message")) or "the server refused the call",
        code=_text(extensions.get("code")) or "INTERNAL",
        field=_text(extensions.get("field")),
        sqlstate=_text(extensions.get("sqlstate")),
        status=status,
        retry_after=retry_after,
        details=extensions,
        errors=known,
        data=data if isinstance(data, dict) else None,
    )


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def invalid(field: str, message: str) -> L9MemoryError:
    """An argument that the client does not send."""
    return L9MemoryError(f"{field}: {message}", code="INVALID_INPUT", field=field)


def unexpected(message: str, status: int | None = None) -> L9MemoryError:
    return L9MemoryError(message, code="UNEXPECTED_ANSWER", status=status)
