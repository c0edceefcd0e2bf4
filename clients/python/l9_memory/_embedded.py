"""The server of a home folder on this machine, found or started."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
import time
import weakref
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ._errors import L9MemoryError, invalid
from ._transport import Transport, checked_timeout

_POLL_SECONDS = 0.1
_HEALTH_SECONDS = 3.0
_STOP_SECONDS = 20.0
# They would make it another server than that of the folder.
_NOT_INHERITED = ("DATABASE_URL", "DATABASE_URL_FILE", "DATABASE_OWNER_URL", "DATABASE_OWNER_URL_FILE", "HOST")


@dataclass(frozen=True)
class Server:
    url: str
    key: str
    #: Ends it, if it was started here.
    stop: Callable[[], object]


def find_or_start(
    home: str | os.PathLike[str] | None, command: str | Sequence[str], caller: str, start_timeout: float
) -> Server:
    """Raises NOT_STARTED with the reason."""
    folder = Path(home or os.environ.get("L9_MEMORY_HOME") or "~/.l9-memory").expanduser().resolve()
    seconds = checked_timeout(start_timeout)
    url = _running(folder)
    if url is not None:
        return Server(url, _key_of(folder, caller), lambda: None)
    process, log = _start(folder, command)
    stop = weakref.finalize(process, _stop, process)
    try:
        return Server(_wait(folder, process, log, seconds), _key_of(folder, caller), stop)
    except BaseException:
        stop()
        raise
    finally:
        # The server goes on writing to its own end.
        log.close()


def _start(folder: Path, command: str | Sequence[str]) -> tuple[subprocess.Popen[bytes], Any]:
    words = [command] if isinstance(command, str) else list(command)
    program = shutil.which(words[0]) if words else None
    if program is None:
        raise _not_started(f"{words[0] if words else 'command'} is not installed: npm install --global l9-memory")
    env = {name: value for name, value in os.environ.items() if name not in _NOT_INHERITED}
    env.update(L9_MEMORY_HOME=str(folder), PORT="0", LOG_FORMAT="json")
    log = tempfile.TemporaryFile()
    try:
        process = subprocess.Popen(
            [program, *words[1:], "start"], env=env, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT
        )
    except OSError as error:
        log.close()
        raise _not_started(f"{words[0]} can't be run: {error.strerror}") from None
    return process, log


def _wait(folder: Path, process: subprocess.Popen[bytes], log: Any, seconds: float) -> str:
    """The address of the server, once it answers. One that another program starts meanwhile on the same folder is as good."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        has_ended = process.poll() is not None
        url = _running(folder)
        if url is not None:
            return url
        if has_ended and "is in use" not in _words(log):
            raise _not_started(f"the server did not start: {_words(log) or f'it ended with {process.returncode}'}")
        time.sleep(_POLL_SECONDS)
    raise _not_started(f"the server of {folder} did not answer within {seconds:g} s")


def _words(log: Any) -> str:
    """What the server said to people; its log is lines of JSON."""
    log.seek(0)
    lines = log.read().decode("utf-8", "replace").splitlines()
    return "\n".join(line for line in lines[-20:] if line.strip() and not line.startswith("{"))


def _stop(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is not None:
        return
    process.terminate()
    try:
        process.wait(_STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _running(folder: Path) -> str | None:
    """The address of the server of this folder, if it is the one that answers there."""
    holder = _object_of(folder / "server.json")
    url, instance = (holder or {}).get("url"), (holder or {}).get("instance")
    if not isinstance(url, str) or not isinstance(instance, str):
        return None
    try:
        # The address of /health takes no key.
        transport = Transport(url, secret="none", timeout=_HEALTH_SECONDS, max_retries=0, ssl_context=None)
    except L9MemoryError:
        return None
    health = transport.get("/health", _HEALTH_SECONDS)
    transport.close()
    return url if health is not None and health.get("instance") == instance else None


def _key_of(folder: Path, caller: str) -> str:
    keys = (_object_of(folder / "credentials.json") or {}).get("mcp_api_keys")
    key = keys.get(caller) if isinstance(keys, dict) else None
    if isinstance(key, list) and key:
        key = key[0]
    if not isinstance(key, str):
        raise invalid("caller", f"{folder / 'credentials.json'} holds no key of {caller}")
    return key


def _object_of(path: Path) -> dict[str, Any] | None:
    try:
        content = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return None
    return content if isinstance(content, dict) else None


def _not_started(message: str) -> L9MemoryError:
    return L9MemoryError(message, code="NOT_STARTED")
