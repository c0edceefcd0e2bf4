"""Servers and proxies that answer otherwise than l9-memory does, and arguments that can't be sent."""

from __future__ import annotations

import json
import socket
import threading
import unittest
from datetime import datetime, timezone
from typing import Any

from l9_memory import L9Memory, L9MemoryError

from .scripted import Scripted, Step, answer, hang_up, refused

KEY = "a-key-of-the-tests-0123456789"
FEEDBACK = {"accessId": "a", "packetId": "p", "wasUseful": True, "reason": None, "givenAt": "2026-01-01T00:00:00Z"}


class Answers(unittest.TestCase):
    def error_of(self, *steps: Step, **options: Any) -> L9MemoryError:
        with Scripted(*steps) as server, L9Memory(server.url, key=KEY, max_retries=0, **options) as memory:
            with self.assertRaises(L9MemoryError) as caught:
                memory.get("0198c1f2-0000-7000-8000-000000000000")
        error = caught.exception
        self.assertNotIn(KEY, f"{error!r} {error} {vars(error)}")
        return error

    def test_refuses_what_is_no_answer_of_l9_memory(self) -> None:
        for body in (
            b"<html><h1>Welcome to the proxy</h1></html>",
            b"",
            b"[]",
            b"null",
            b'{"data": null}',
            b'{"data": [1]}',
            b'{"errors": []}',
            b'{"data": {"getMemory": NaN}}',
            b'{"data": {"getMemory": null}}',
            b'{"data": {"getMemory": {"packetId": 1}}}',
            b'{"data": {"getMemory": []}}',
            b'{"data": {}}',
            b'\xff\xfe{"data"',
            b"[" * 100_000,
        ):
            with self.subTest(body=body[:40]):
                error = self.error_of(answer(body))
                self.assertEqual((error.code, error.sqlstate), ("UNEXPECTED_ANSWER", None))
                self.assertNotIn("Welcome", str(error))

    def test_gives_the_status_of_a_page_of_a_proxy(self) -> None:
        for status in (200, 401, 403, 404, 413, 500, 502, 503, 504):
            error = self.error_of(answer(b"<html>", status, kind="text/html"))
            self.assertEqual((error.code, error.status), ("UNEXPECTED_ANSWER", status))

    def test_takes_errors_of_any_shape(self) -> None:
        for errors in ([None], ["text"], [{}], [{"message": 7, "extensions": []}], [{"extensions": {"code": {}}}]):
            self.assertEqual(self.error_of(answer({"errors": errors})).code, "INTERNAL")

    def test_carries_what_an_error_says(self) -> None:
        current = {"packet_id": "p", "updated_at": "2026-01-01T00:00:00Z", "content": "there"}
        error = self.error_of(refused("VERSION_CONFLICT", sqlstate="L9VER", field="expectedVersion", current=current))
        self.assertEqual(
            (error.code, error.sqlstate, error.field, error.message, error.current),
            ("VERSION_CONFLICT", "L9VER", "expectedVersion", "refused with VERSION_CONFLICT", current),
        )

    def test_follows_no_redirect(self) -> None:
        with Scripted(answer({"data": {}})) as other:
            for status in (301, 302, 303, 307, 308):
                error = self.error_of(answer(b"", status, [f"Location: {other.url}/graphql"]))
                self.assertEqual((error.code, error.status), ("UNEXPECTED_ANSWER", status))
                self.assertIn("redirect", error.message)
            self.assertEqual(other.connections, 0)

    def test_ends_at_the_time_limit_however_slowly_the_bytes_come(self) -> None:
        ended = threading.Event()

        def drip(first: bytes) -> Step:
            def send(connection: socket.socket) -> None:
                connection.sendall(first)
                while not ended.wait(0.02):
                    connection.sendall(b"x")

            return send

        try:
            for first in (b"", b"HTTP/1.1 200 OK\r\nX: ", b"HTTP/1.1 200 OK\r\nContent-Length: 999999\r\n\r\n"):
                self.assertEqual(self.error_of(drip(first), timeout=0.3).code, "TIMEOUT")
        finally:
            ended.set()

    def test_notices_an_answer_that_breaks_off(self) -> None:
        whole = answer({"data": {"getMemory": None}})
        chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{\"dat"

        def cut(begin: bytes) -> Step:
            def send(connection: socket.socket) -> None:
                connection.sendall(begin)
                connection.shutdown(socket.SHUT_RDWR)

            return send

        for begin in (b"", b"no HTTP at all\r\n\r\n", whole[:-3], chunked):
            self.assertEqual(self.error_of(cut(begin)).code, "UNREACHABLE", begin)

    def test_says_that_a_server_cannot_be_reached(self) -> None:
        with Scripted(hang_up) as server:
            gone = server.url
        for url in (gone, "http://nowhere.invalid"):
            with L9Memory(url, key=KEY, max_retries=0) as memory, self.assertRaises(L9MemoryError) as caught:
                memory.get("x")
            self.assertEqual((caught.exception.code, caught.exception.status), ("UNREACHABLE", None))

    def test_refuses_a_list_that_goes_round_in_circles(self) -> None:
        page = {"memories": {"nodes": [], "pageInfo": {"hasNextPage": True, "endCursor": "same"}}}
        with Scripted(answer({"data": page})) as server, L9Memory(server.url, key=KEY) as memory:
            with self.assertRaises(L9MemoryError) as caught:
                list(memory.list())
        self.assertEqual(caught.exception.code, "UNEXPECTED_ANSWER")
        self.assertEqual(len(server.bodies), 2)

    def test_speaks_ipv6(self) -> None:
        try:
            server = Scripted(answer({"data": {"recordFeedback": {"feedback": FEEDBACK}}}), host="::1")
        except OSError:
            self.skipTest("this machine has no IPv6")
        with server, L9Memory(server.url, key=KEY) as memory:
            self.assertEqual(memory.feedback("a", True).packet_id, "p")
        self.assertIn(f"Host: {server.url.removeprefix('http://')}", server.heads[0])


class Arguments(unittest.TestCase):
    def refusal_of(self, **options: Any) -> L9MemoryError:
        with self.assertRaises(L9MemoryError) as caught:
            L9Memory(**options)
        self.assertEqual(caught.exception.code, "INVALID_INPUT")
        return caught.exception

    def test_refuses_addresses_that_it_would_misread(self) -> None:
        for url in (
            *("", "memory.example.com", "ftp://memory.example.com", "http://", "http://host:port", "http://host:99999"),
            *("http://user:password@host", "http://host/?a=b", "http://host/#a", "http://host/a b", "http://[::1"),
            *("http://host/a\r\nX-Evil: 1", "http://host/\u00e4", "file:///etc/passwd"),
        ):
            with self.subTest(url=url):
                error = self.refusal_of(url=url, key=KEY)
                self.assertEqual(error.field, "url")
                self.assertNotIn("password", error.message.replace("user and password", ""))

    def test_takes_addresses_with_a_path_or_graphql_at_the_end(self) -> None:
        for url in ("http://host", "http://host/", "http://host/graphql", "http://host/graphql/"):
            self.assertEqual(L9Memory(url, key=KEY).url, "http://host")
        self.assertEqual(L9Memory("https://[::1]:8443/memory/graphql", key=KEY).url, "https://[::1]:8443/memory")

    def test_wants_either_key_or_token(self) -> None:
        self.refusal_of(url="http://host")
        self.refusal_of(url="http://host", key=KEY, token="token")

    def test_refuses_limits_that_are_none(self) -> None:
        for timeout in (0, -1, float("nan"), float("inf"), True, "5"):
            self.assertEqual(self.refusal_of(key=KEY, timeout=timeout).field, "timeout")
        for retries in (-1, 1.5, True):
            self.assertEqual(self.refusal_of(key=KEY, max_retries=retries).field, "max_retries")

    def test_sends_no_key_that_would_add_a_header_and_quotes_none(self) -> None:
        with Scripted(answer({"data": {}})) as server:
            for key in ("key\r\nX-Evil: 1", "key\n", "two words", "", "schl\u00fcssel"):
                cases: list[dict[str, Any]] = [{"key": key}, {"token": lambda key=key: key}]
                for given in cases:
                    with L9Memory(server.url, **given) as memory, self.assertRaises(L9MemoryError) as caught:
                        memory.graphql("{ __typename }")
                    self.assertEqual(caught.exception.code, "INVALID_INPUT")
                    self.assertNotIn(key or "\0", str(caught.exception))
            self.assertEqual(server.connections, 0)

    def test_shows_no_key(self) -> None:
        self.assertNotIn(KEY, repr(L9Memory(key=KEY)))

    def test_refuses_arguments_that_are_no_json(self) -> None:
        loop: dict[str, Any] = {}
        loop["loop"] = loop
        deep: Any = []
        for _ in range(100_000):
            deep = [deep]
        with Scripted(answer({"data": {}})) as server, L9Memory(server.url, key=KEY) as memory:
            for value in (float("nan"), float("inf"), object(), loop, deep, "\ud800", b"bytes", datetime(2026, 1, 1)):
                with self.assertRaises(L9MemoryError) as caught:
                    memory.save("a text", metadata={"value": value})
                self.assertEqual(caught.exception.code, "INVALID_INPUT")
            calls = (
                lambda: memory.save(b"bytes"),  # type: ignore[arg-type]
                lambda: memory.save("a text", tags="one"),
                lambda: memory.save("a text", tags=[1]),  # type: ignore[list-item]
                lambda: memory.search(since=datetime(2026, 1, 1)),
                lambda: memory.save_many([{"content": "a text", "packetId": "p"}]),
                lambda: memory.list(page_size=1001),
                lambda: memory.save("a text", timeout=0),
            )
            for call in calls:
                with self.assertRaises(L9MemoryError) as caught:
                    call()
                self.assertEqual(caught.exception.code, "INVALID_INPUT")
            self.assertEqual(server.connections, 0)

    def test_sends_texts_as_they_are(self) -> None:
        text = 'quotes " and \\, \u2028, \0, \U0001f600, e\u0301, \u200f\u05d0'
        when = datetime(2026, 1, 1, 12, tzinfo=timezone.utc)
        page = {"memories": {"nodes": [], "pageInfo": {"hasNextPage": False, "endCursor": None}}}
        with Scripted(answer({"data": page})) as server, L9Memory(server.url, key=KEY, project="p") as memory:
            self.assertEqual(list(memory.list(thread_id=text, since=when)), [])
        self.assertIn("\U0001f600".encode(), server.bodies[0])
        self.assertEqual(
            server.json(0)["variables"]["filter"],
            {
                "projectId": {"equalTo": "p"},
                "threadId": {"equalTo": text},
                "timestamp": {"greaterThanOrEqualTo": "2026-01-01T12:00:00+00:00"},
            },
        )
        self.assertEqual(json.loads(server.bodies[0])["variables"]["orderBy"], ["TIMESTAMP_DESC", "PACKET_ID_DESC"])


if __name__ == "__main__":
    unittest.main()
