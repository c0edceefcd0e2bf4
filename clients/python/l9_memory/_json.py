"""JSON as the server reads it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Set
from datetime import date, datetime
from typing import Any, NoReturn
from uuid import UUID

from ._errors import L9MemoryError, invalid


def encode(value: Any) -> bytes:
    """JSON in UTF-8, so that a text counts with the bytes that the limits of the server count."""
    try:
        return json.dumps(value, default=_plain, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode("utf-8")
    except UnicodeEncodeError:
        # The error of Python would quote the text.
        raise invalid("body", "a text holds half of a surrogate pair, which no UTF-8 can hold") from None
    except L9MemoryError:
        raise
    except (TypeError, ValueError, RecursionError):
        reason = "a value is none of JSON: a number that is not finite, an object of Python, or one in itself"
        raise invalid("body", reason) from None


def _plain(value: Any) -> Any:
    if isinstance(value, (datetime, date)):
        return time_text("body", value)
    if isinstance(value, UUID):
        return str(value)
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Set):
        return sorted(value)
    raise TypeError


def time_text(field: str, value: str | date | None) -> str | None:
    """A time as text. A datetime without a zone could mean any."""
    if isinstance(value, datetime) and value.tzinfo is None:
        raise invalid(field, "a datetime needs a time zone, such as datetime.now(timezone.utc)")
    return value.isoformat() if isinstance(value, date) else value


def decode(body: bytes) -> Any:
    """The value of a JSON text. Raises ValueError for everything else, NaN and Infinity included."""
    try:
        return json.loads(body.decode("utf-8"), parse_constant=_refuse)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")
