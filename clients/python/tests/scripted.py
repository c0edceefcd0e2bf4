"""A server that answers each request as a script says, byte by byte, and keeps what it was sent."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any, Union

# What is answered to a request: bytes, or a function that gets the connection. The connection then stays open.
Step = Union[bytes, Callable[[socket.socket], None]]


def answer(body: Any, status: int = 200, headers: Sequence[str] = (), kind: str = "application/json") -> bytes:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    lines = [f"HTTP/1.1 {status} Whatever", f"Content-Type: {kind}", f"Content-Length: {len(content)}", *headers, "", ""]
    return "\r\n".join(lines).encode("latin-1") + content


def refused(code: str, status: int = 200, headers: Sequence[str] = (), **extensions: Any) -> bytes:
    error = {"message": f"refused with {code}", "extensions": {"code": code, **extensions}}
    return answer({"errors": [error]}, status, headers)


def hang_up(connection: socket.socket) -> None:
    connection.close()


class Scripted:
    """Serves the steps in their order, whichever connection asks; the last one again and again."""

    def __init__(self, *steps: Step, host: str = "127.0.0.1") -> None:
        self._steps = list(steps)
        self._listening = socket.create_server((host, 0), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
        port = self._listening.getsockname()[1]
        self.url = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
        self.heads: list[str] = []
        self.bodies: list[bytes] = []
        self.connections = 0
        self._lock = threading.Lock()
        self._open: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def json(self, number: int) -> Any:
        """The body of a request."""
        return json.loads(self.bodies[number])

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listening.accept()
            except OSError:
                return
            self.connections += 1
            self._open.append(connection)
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        try:
            with connection, connection.makefile("rb") as reader:
                while head := _head(reader):
                    lengths = [line[15:] for line in head.lower().split("\r\n") if line.startswith("content-length:")]
                    body = reader.read(int(lengths[0])) if lengths else b""
                    with self._lock:
                        self.heads.append(head)
                        self.bodies.append(body)
                        step = self._steps.pop(0) if len(self._steps) > 1 else self._steps[0]
                    if isinstance(step, bytes):
                        connection.sendall(step)
                    else:
                        step(connection)
                        return
        except OSError:
            pass

    def __enter__(self) -> Scripted:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._listening.close()
        for connection in self._open:
            connection.close()


def _head(reader: Any) -> str:
    lines = []
    while (line := reader.readline()) not in (b"\r\n", b""):
        lines.append(line.decode("latin-1").rstrip("\r\n"))
    return "\r\n".join(lines)
