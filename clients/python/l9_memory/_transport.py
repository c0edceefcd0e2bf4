"""Calls of GraphQL: who calls, what is tried again, and what an answer means."""

from __future__ import annotations

import email.utils
import random
import re
import ssl
import time
from collections.abc import Callable, Mapping
from typing import Any

from ._connection import Answer, Broken, Connections, Deadline, NotSent, address_of
from ._errors import L9MemoryError, error_of, invalid, unexpected
from ._json import decode, encode

# Seconds before each further attempt, where the server does not ask for more.
_WAITS = (0.2, 0.5, 1.0, 2.0, 4.0)
_RATE_LIMITED = 429
# Of a server or a proxy that is starting, busy or being replaced.
_AWAY = (502, 503, 504)
_VISIBLE = re.compile(r"[\x21-\x7e]+")


class Transport:
    def __init__(
        self,
        url: str,
        *,
        secret: str | Callable[[], str],
        timeout: float,
        max_retries: int,
        ssl_context: ssl.SSLContext | None,
    ) -> None:
        address = address_of(url)
        self.url = f"{address.scheme}://{address.netloc}{address.path}"
        self._secret = secret
        self._timeout = checked_timeout(timeout)
        if isinstance(max_retries, bool) or not isinstance(max_retries, int) or max_retries < 0:
            raise invalid("max_retries", "must be 0 or more")
        self.max_retries = max_retries
        self._connections = Connections(address, ssl_context)

    def call(
        self,
        document: str,
        variables: Mapping[str, Any],
        *,
        is_repeatable: bool,
        timeout: float | None,
        operation: str | None = None,
    ) -> dict[str, Any]:
        """The data of an answer without errors.

        A call is tried again where it was certainly not run, and, if ``is_repeatable``, also where it may have been.
        """
        body = encode({"query": document, "variables": variables, **({"operationName": operation} if operation else {})})
        deadline = Deadline(self._timeout if timeout is None else checked_timeout(timeout))
        attempt = 0
        while True:
            try:
                return self._attempt(body, deadline)
            except _Again as again:
                wait = max(_WAITS[min(attempt, len(_WAITS) - 1)] * random.uniform(0.5, 1), again.error.retry_after or 0)
                is_allowed = is_repeatable or not again.may_have_run
                if not is_allowed or attempt >= self.max_retries or not deadline.allows(wait):
                    raise again.error from None
                attempt += 1
                time.sleep(wait)

    def _attempt(self, body: bytes, deadline: Deadline) -> dict[str, Any]:
        headers = {
            "Authorization": f"Bearer {self._bearer()}",
            "Content-Type": "application/json",
            "Accept": "application/json",
            "User-Agent": "l9-memory-python",
        }
        try:
            answer = self._connections.request("POST", "/graphql", body, headers, deadline)
        except TimeoutError:
            raise L9MemoryError(f"{self.url} did not answer within the time limit", code="TIMEOUT") from None
        except NotSent as reason:
            error = L9MemoryError(f"{self.url} can't be reached: {reason}", code="UNREACHABLE")
            raise _Again(error, may_have_run=False) from None
        except Broken as reason:
            error = L9MemoryError(f"{self.url} ended the connection before its answer ({reason})", code="UNREACHABLE")
            raise _Again(error, may_have_run=True) from None
        return self._data_of(answer)

    def _bearer(self) -> str:
        secret = self._secret if isinstance(self._secret, str) else self._secret()
        # http.client would quote a malformed one in its error.
        if not isinstance(secret, str) or not _VISIBLE.fullmatch(secret):
            raise invalid("key or token", "must be a text of visible ASCII characters, without spaces and line feeds")
        return secret

    def _data_of(self, answer: Answer) -> dict[str, Any]:
        status = answer.status
        if 300 <= status < 400:
            raise unexpected(
                f"{self.url} redirects (HTTP {status}). The client follows no redirect, which could carry the key elsewhere: "
                "give the final address as url",
                status,
            )
        content = _object_in(answer.body)
        retry_after = _seconds(answer.headers.get("retry-after"))
        errors = content.get("errors") if content else None
        if isinstance(errors, list) and errors:
            error = error_of(errors, status, retry_after, content.get("data") if content else None)
        elif content and status == 200 and isinstance(content.get("data"), dict):
            data: dict[str, Any] = content["data"]
            return data
        else:
            error = unexpected(f"{self.url}/graphql does not answer as l9-memory (HTTP {status})", status)
            error.retry_after = retry_after
        if status == _RATE_LIMITED:
            raise _Again(error, may_have_run=False)
        if status in _AWAY:
            # While the server starts, it runs nothing.
            raise _Again(error, may_have_run=not (content and content.get("status") == "starting"))
        raise error

    def get(self, path: str, timeout: float) -> dict[str, Any] | None:
        """The object of JSON at an address that needs no key; None if there is none."""
        try:
            answer = self._connections.request("GET", path, None, {"Accept": "application/json"}, Deadline(timeout))
        except (TimeoutError, NotSent, Broken):
            return None
        return _object_in(answer.body)

    def close(self) -> None:
        self._connections.close()


class _Again(Exception):
    """An error that another attempt may not have."""

    def __init__(self, error: L9MemoryError, *, may_have_run: bool) -> None:
        super().__init__()
        self.error = error
        self.may_have_run = may_have_run


def checked_timeout(seconds: float) -> float:
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or not 0 < seconds < 1e6:
        raise invalid("timeout", "must be a number of seconds above 0")
    return float(seconds)


def _object_in(body: bytes) -> dict[str, Any] | None:
    try:
        content = decode(body)
    except ValueError:
        return None
    return content if isinstance(content, dict) else None


def _seconds(header: str | None) -> float | None:
    """What Retry-After says: seconds, or a date."""
    if header is None:
        return None
    if re.fullmatch(r"\d{1,6}", header.strip()):
        return float(header)
    try:
        return max(0.0, email.utils.parsedate_to_datetime(header).timestamp() - time.time())
    except (TypeError, ValueError, OverflowError, OSError):
        return None
