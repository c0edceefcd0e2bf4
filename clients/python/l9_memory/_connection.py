"""Requests over HTTP, with one time limit for all of connecting, sending and reading. No redirect is followed, no proxy used."""

from __future__ import annotations

import http.client
import io
import os
import selectors
import socket
import ssl
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import SplitResult, urlsplit

from ._errors import invalid

# The server closes idle connections after 65 s, but proxies in front may do so after five.
_IDLE_SECONDS = 4.0
_KEPT = 8
_CHUNK = 65_536


class Deadline:
    """The time until which a call has to be answered."""

    def __init__(self, seconds: float) -> None:
        self._at = time.monotonic() + seconds

    def left(self) -> float:
        """Seconds that are left. Raises TimeoutError if there are none."""
        seconds = self._at - time.monotonic()
        if seconds <= 0:
            raise TimeoutError
        return seconds

    def allows(self, seconds: float) -> bool:
        return self._at - time.monotonic() > seconds


@dataclass(frozen=True)
class Answer:
    status: int
    headers: Mapping[str, str]
    body: bytes


class NotSent(Exception):
    """There was no connection, so the server knows nothing of the request."""


class Broken(Exception):
    """The connection ended before the whole answer was there. The request may have been run."""


class _Timed(io.RawIOBase):
    """A socket whose reads end at the deadline, however slowly its bytes come."""

    def __init__(self, connected: socket.socket, deadline: Deadline) -> None:
        self._socket = connected
        self._raw: Any = connected.makefile("rb", buffering=0)
        self._deadline = deadline

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        self._socket.settimeout(self._deadline.left())
        count: int | None = self._raw.readinto(buffer)
        return count

    def close(self) -> None:
        if not self.closed:
            self._raw.close()
        super().close()


class _TimedResponse(http.client.HTTPResponse):
    def __init__(self, connected: socket.socket, deadline: Deadline, method: str | None) -> None:
        super().__init__(connected, method=method)
        self.fp.close()
        self.fp = io.BufferedReader(_Timed(connected, deadline))


def address_of(url: str) -> SplitResult:
    """The parts of the address of a server, without /graphql and with neither query nor fragment."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise invalid("url", "not a URL such as https://memory.example.com") from None
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0:
        raise invalid("url", "not a URL such as https://memory.example.com")
    if "@" in parts.netloc:
        raise invalid("url", "must hold no user and password: give key or token")
    if parts.query or parts.fragment:
        raise invalid("url", "must end with its path")
    path = parts.path.rstrip("/").removesuffix("/graphql").rstrip("/")
    if not path.isascii() or any(sign <= " " or sign == "\x7f" for sign in path):
        raise invalid("url", "its path must be percent-encoded")
    return parts._replace(path=path)


class Connections:
    """Connections to one server that are used again. Threads may share it."""

    def __init__(self, address: SplitResult, context: ssl.SSLContext | None) -> None:
        self._address = address
        self._context = None if address.scheme == "http" else context or ssl.create_default_context()
        self._idle: list[tuple[http.client.HTTPConnection, float]] = []
        self._lock = threading.Lock()
        self._pid = os.getpid()

    def request(self, method: str, path: str, body: bytes | None, headers: Mapping[str, str], deadline: Deadline) -> Answer:
        """Sends one request. Raises TimeoutError, NotSent or Broken."""
        connection = self._take() or self._open(deadline)
        is_kept = False
        try:
            connection.sock.settimeout(deadline.left())
            connection.response_class = lambda sock, method=None, **_: _TimedResponse(sock, deadline, method)  # type: ignore
            connection.request(method, self._address.path + path, body, dict(headers))
            response = connection.getresponse()
            content = self._read(response)
            is_kept = not response.will_close
            return Answer(response.status, {name.lower(): value for name, value in response.getheaders()}, content)
        except (TimeoutError, socket.timeout):
            raise TimeoutError from None
        except (OSError, http.client.HTTPException, ValueError) as error:
            # What these errors say may quote what was sent or answered.
            raise Broken(type(error).__name__) from None
        finally:
            if is_kept:
                self._keep(connection)
            else:
                connection.close()

    @staticmethod
    def _read(response: http.client.HTTPResponse) -> bytes:
        chunks = []
        while chunk := response.read(_CHUNK):
            chunks.append(chunk)
        # Python leaves it to the caller to see that fewer bytes came than were announced.
        if response.length:
            raise http.client.IncompleteRead(b"")
        return b"".join(chunks)

    def _open(self, deadline: Deadline) -> http.client.HTTPConnection:
        # Without a port, http.client would take the end of an IPv6 address for one.
        host, port = self._address.hostname or "", self._address.port or (80 if self._context is None else 443)
        connection: http.client.HTTPConnection
        if self._context is None:
            connection = http.client.HTTPConnection(host, port, timeout=deadline.left())
        else:
            connection = http.client.HTTPSConnection(host, port, timeout=deadline.left(), context=self._context)
        try:
            connection.connect()
        except (TimeoutError, socket.timeout):
            connection.close()
            raise TimeoutError from None
        except (OSError, UnicodeError, ValueError) as error:
            connection.close()
            raise NotSent(_reason(error)) from None
        return connection

    def _take(self) -> http.client.HTTPConnection | None:
        with self._lock:
            if self._pid != os.getpid():
                # A process that was forked must not speak on the connections of its parent.
                self._idle, self._pid = [], os.getpid()
            while self._idle:
                connection, since = self._idle.pop()
                if time.monotonic() - since < _IDLE_SECONDS and not _has_ended(connection):
                    return connection
                connection.close()
        return None

    def _keep(self, connection: http.client.HTTPConnection) -> None:
        with self._lock:
            if len(self._idle) < _KEPT and self._pid == os.getpid():
                self._idle.append((connection, time.monotonic()))
                return
        connection.close()

    def close(self) -> None:
        with self._lock:
            idle, self._idle = self._idle, []
        for connection, _ in idle:
            connection.close()


def _has_ended(connection: http.client.HTTPConnection) -> bool:
    """Whether the server closed it, or sent something that nobody asked for."""
    if connection.sock is None:
        return True
    with selectors.DefaultSelector() as selector:
        selector.register(connection.sock, selectors.EVENT_READ)
        return bool(selector.select(0))


def _reason(error: Exception) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not accepted ({error.verify_message})"
    if isinstance(error, ssl.SSLError):
        return "it speaks no TLS that this client accepts"
    if isinstance(error, socket.gaierror):
        return "its name is not known"
    return getattr(error, "strerror", None) or type(error).__name__
