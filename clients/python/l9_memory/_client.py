"""The client of l9-memory."""

from __future__ import annotations

import os
import ssl
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Any

from . import _embedded
from ._errors import invalid
from ._reads import Reads
from ._transport import Transport
from ._writes import Writes


class L9Memory(Reads, Writes):
    """A client of one server, as one caller. Threads may share it.

    ``url``: the address of the server. It may have a path, where a proxy serves l9-memory below one.
    ``key`` or ``token``: an API key, or a JWT; a function is called for each request, so that it can renew the token.
    ``project``, ``branch``: of all calls that name none. ``"*"`` reads all of them, and an
    empty text leaves them out of a call.
    ``timeout``: seconds that a call may take, with all its attempts; each call can have its own.
    ``max_retries``: how often a call is tried again that the server could not run: with 429 and 503 after the time of
    ``Retry-After``. A write that may have been run is sent again only with an idempotency key, which saves get by themselves.
    """

    def __init__(
        self,
        url: str = "http://127.0.0.1:9001",
        *,
        key: str | None = None,
        token: str | Callable[[], str] | None = None,
        project: str | None = None,
        branch: str | None = None,
        timeout: float = 60.0,
        max_retries: int = 5,
        ssl_context: ssl.SSLContext | None = None,
    ) -> None:
        secret = token if key is None else key
        if secret is None or (key is not None and token is not None):
            raise invalid("key", "give either key or token")
        self._transport = Transport(url, secret=secret, timeout=timeout, max_retries=max_retries, ssl_context=ssl_context)
        self.url = self._transport.url
        self._project = project
        self._branch = branch
        self._on_close: Callable[[], object] | None = None

    @classmethod
    def embedded(
        cls,
        home: str | os.PathLike[str] | None = None,
        *,
        command: str | Sequence[str] = "l9-memory",
        caller: str = "C",
        start_timeout: float = 120.0,
        project: str | None = None,
        branch: str | None = None,
        timeout: float = 60.0,
        max_retries: int = 5,
    ) -> L9Memory:
        """A client of the server of a home folder on this machine (``L9_MEMORY_HOME``, else ``~/.l9-memory``).

        If none runs, ``command``, an installed l9-memory, starts one. It ends with ``close``, or with this program.

        ``caller``: whose key of the home folder is used; C, or L for an administrator.
        """
        server = _embedded.find_or_start(home, command, caller, start_timeout)
        try:
            client = cls(
                server.url, key=server.key, project=project, branch=branch, timeout=timeout, max_retries=max_retries
            )
        except BaseException:
            server.stop()
            raise
        client._on_close = server.stop
        return client

    def graphql(
        self,
        query: str,
        variables: Mapping[str, Any] | None = None,
        *,
        operation_name: str | None = None,
        timeout: float | None = None,
    ) -> dict[str, Any]:
        """The data of any request of GraphQL, as it is answered.

        One with a mutation is sent again only if it was certainly not run.
        """
        return self._transport.call(
            query, variables or {}, is_repeatable="mutation" not in query, timeout=timeout, operation=operation_name
        )

    def close(self) -> None:
        """Closes the connections, and ends the server that ``embedded`` started."""
        self._transport.close()
        if self._on_close is not None:
            self._on_close()

    def __enter__(self) -> L9Memory:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"L9Memory({self.url!r})"
