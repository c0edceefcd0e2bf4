"""What is sent again, when, and over which connection."""

from __future__ import annotations

import threading
import time
import unittest
from collections.abc import Callable
from email.utils import formatdate
from typing import Any
from unittest import mock

from l9_memory import L9Memory, L9MemoryError

from .scripted import Scripted, Step, answer, hang_up, refused

KEY = "a-key-of-the-tests-0123456789"
SAVED = {"status": "inserted", "memory": None, "notice": None, "redacted": None, "similar": None}
DONE = answer({"data": {"saveMemory": SAVED, "x": 1}})
BUSY = refused("BUSY", 503, ["Retry-After: 0"])
LIMITED = refused("RATE_LIMITED", 429, ["Retry-After: 0"])
STARTING = answer({"status": "starting", "errors": [{"message": "starting", "extensions": {"code": "BUSY"}}]}, 503)
DELETED = answer({"data": {"deleteMemory": {"packetId": "p"}}})

Call = Callable[[L9Memory], Any]


def save(memory: L9Memory) -> Any:
    return memory.save("a text")


def delete(memory: L9Memory) -> Any:
    return memory.delete("p")


class Retries(unittest.TestCase):
    def setUp(self) -> None:
        self.slept: list[float] = []
        patch = mock.patch("time.sleep", self.slept.append)
        patch.start()
        self.addCleanup(patch.stop)

    def sent(self, call: Call, *steps: Step, **options: Any) -> tuple[Scripted, str]:
        """The server after the call, and the code of the error, if there was one."""
        with Scripted(*steps) as server, L9Memory(server.url, key=KEY, **options) as memory:
            try:
                call(memory)
                return server, ""
            except L9MemoryError as error:
                return server, error.code

    def test_repeats_a_save_with_the_same_idempotency_key(self) -> None:
        for again in (BUSY, LIMITED, STARTING, hang_up, answer(b"<html>", 502), answer(b"<html>", 504)):
            server, code = self.sent(save, again, DONE)
            self.assertEqual((code, len(server.bodies)), ("", 2))
            keys = [server.json(number)["variables"]["input"]["idempotencyKey"] for number in (0, 1)]
            self.assertEqual(keys[0], keys[1])
            self.assertGreaterEqual(len(keys[0]), 32)

    def test_gives_each_save_a_key_of_its_own(self) -> None:
        def twice(memory: L9Memory) -> None:
            save(memory)
            save(memory)
            memory.save("a text", idempotency_key="mine")

        server, _ = self.sent(twice, DONE)
        keys = [server.json(number)["variables"]["input"]["idempotencyKey"] for number in (0, 1, 2)]
        self.assertEqual(len(set(keys)), 3)
        self.assertEqual(keys[2], "mine")

    def test_repeats_a_write_without_key_only_if_it_was_not_run(self) -> None:
        calls: list[Call] = [
            delete,
            lambda memory: memory.update("p", content="b"),
            lambda memory: memory.relate("a", "b", "c"),
            lambda memory: memory.graphql("mutation { x }"),
            lambda memory: memory.graphql("# a comment\nmutation M { x }"),
        ]
        for call in calls:
            for again, code in ((BUSY, "BUSY"), (hang_up, "UNREACHABLE"), (answer(b"<html>", 502), "UNEXPECTED_ANSWER")):
                server, got = self.sent(call, again, DELETED)
                self.assertEqual((got, len(server.bodies)), (code, 1))
            for again in (LIMITED, STARTING):
                server, got = self.sent(call, again, refused("SCOPE_DENIED"))
                self.assertEqual((got, len(server.bodies)), ("SCOPE_DENIED", 2))

    def test_repeats_reads_of_graphql(self) -> None:
        server, code = self.sent(lambda memory: memory.graphql("{ x }"), BUSY, hang_up, DONE)
        self.assertEqual((code, len(server.bodies)), ("", 3))

    def test_repeats_no_other_refusal(self) -> None:
        for status in (200, 400, 401, 403, 404, 413, 500, 507):
            server, code = self.sent(save, refused("SOME_CODE", status))
            self.assertEqual((code, len(server.bodies)), ("SOME_CODE", 1))

    def test_ends_after_max_retries(self) -> None:
        for retries in (0, 1, 5, 8):
            self.slept.clear()
            server, code = self.sent(save, BUSY, max_retries=retries)
            self.assertEqual((code, len(server.bodies), len(self.slept)), ("BUSY", retries + 1, retries))
        self.assertLess(max(self.slept), 4.1)

    def test_waits_as_long_as_the_server_asks(self) -> None:
        in_a_while = formatdate(time.time() + 30, usegmt=True)
        for header, least, most in (
            *(("7", 7.0, 7.0), (in_a_while, 27.0, 31.0), (formatdate(0, usegmt=True), 0.1, 0.2)),
            *(("soon", 0.1, 0.2), ("-5", 0.1, 0.2), ("1e9", 0.1, 0.2), ("", 0.1, 0.2), ("99999999999", 0.1, 0.2)),
        ):
            self.slept.clear()
            _, code = self.sent(save, refused("BUSY", 503, [f"Retry-After: {header}"]), DONE)
            self.assertEqual((code, len(self.slept)), ("", 1), header)
            self.assertTrue(least <= self.slept[0] <= most, (header, self.slept))

    def test_takes_the_seconds_of_an_error_without_a_header(self) -> None:
        self.sent(save, refused("RATE_LIMITED", 429, retryAfterSeconds=9), DONE)
        self.assertEqual(self.slept, [9.0])

    def test_does_not_wait_longer_than_the_time_limit(self) -> None:
        with Scripted(refused("RATE_LIMITED", 429, ["Retry-After: 50"])) as server:
            with L9Memory(server.url, key=KEY, timeout=20) as memory, self.assertRaises(L9MemoryError) as caught:
                save(memory)
        self.assertEqual((caught.exception.code, caught.exception.retry_after, self.slept), ("RATE_LIMITED", 50.0, []))

    def test_asks_for_the_token_of_each_attempt(self) -> None:
        tokens = iter(["first", "second"])
        with Scripted(BUSY, DONE) as server, L9Memory(server.url, token=lambda: next(tokens)) as memory:
            save(memory)
        self.assertIn("Authorization: Bearer first", server.heads[0])
        self.assertIn("Authorization: Bearer second", server.heads[1])


class Connections(unittest.TestCase):
    def test_uses_a_connection_again(self) -> None:
        with Scripted(DONE) as server, L9Memory(server.url, key=KEY) as memory:
            for _ in range(5):
                delete_all(memory)
        self.assertEqual((server.connections, len(server.bodies)), (1, 5))

    def test_notices_that_a_kept_connection_was_closed(self) -> None:
        def answer_and_close(connection: Any) -> None:
            connection.sendall(DELETED)

        with Scripted(answer_and_close, DELETED) as server, L9Memory(server.url, key=KEY) as memory:
            delete(memory)
            wait_for(lambda: server.connections == 1 and len(server.bodies) == 1)
            # The close of the server arrives after its answer.
            kept = memory._transport._connections._idle[0][0].sock
            kept.settimeout(5)
            self.assertEqual(kept.recv(1), b"")
            delete(memory)
        self.assertEqual((server.connections, len(server.bodies)), (2, 2))

    def test_serves_many_threads(self) -> None:
        with Scripted(DONE) as server, L9Memory(server.url, key=KEY) as memory:
            threads = [threading.Thread(target=save, args=(memory,)) for _ in range(30)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        self.assertEqual(len(server.bodies), 30)
        self.assertEqual(len({server.json(n)["variables"]["input"]["idempotencyKey"] for n in range(30)}), 30)


class Batches(unittest.TestCase):
    def stored(self, items: Any, *steps: Step, **options: Any) -> tuple[Scripted, Any]:
        with Scripted(*steps) as server, L9Memory(server.url, key=KEY, max_retries=0) as memory:
            return server, memory.save_many(items, **options)

    def test_sends_at_most_500_items_and_2_mb_at_once(self) -> None:
        done = answer({"data": {"memoryStore": {"stored": [], "errors": []}}})
        server, _ = self.stored((f"text {number}" for number in range(1_201)), done)
        self.assertEqual([len(server.json(n)["variables"]["input"]["items"]) for n in range(3)], [500, 500, 201])
        server, _ = self.stored(["\u00e9" * 450_000] * 5, done)
        self.assertEqual([len(server.json(n)["variables"]["input"]["items"]) for n in range(3)], [2, 2, 1])
        self.assertLess(max(map(len, server.bodies)), 2 * 1024 * 1024)
        self.assertEqual(self.stored([], done)[0].bodies, [])

    def test_counts_items_over_all_batches(self) -> None:
        one = {"code": "INVALID_INPUT", "message": "no", "field": None, "sqlstate": "L9VAL", "current": None, "findings": None}
        done = answer({"data": {"memoryStore": {"stored": [], "errors": [{"index": 3, **one}]}}})
        _, result = self.stored(["text"] * 501, done)
        self.assertEqual([error.index for error in result.errors], [3, 503])

    def test_tells_what_was_stored_before_a_batch_failed(self) -> None:
        one = {"code": "INVALID_INPUT", "message": "no", "field": None, "sqlstate": "L9VAL", "current": None, "findings": None}
        done = answer({"data": {"memoryStore": {"stored": [], "errors": [{"index": 3, **one}]}}})
        with self.assertRaises(L9MemoryError) as caught:
            self.stored(["text"] * 501, done, refused("SCOPE_DENIED"))
        self.assertEqual(caught.exception.code, "SCOPE_DENIED")
        self.assertEqual([error.index for error in (caught.exception.data or {})["result"].errors], [3])

    def test_stores_all_or_none_in_one_batch_only(self) -> None:
        done = answer({"data": {"memoryStore": {"stored": [], "errors": []}}})
        server, _ = self.stored(["text"] * 500, done, all_or_nothing=True)
        self.assertTrue(server.json(0)["variables"]["input"]["allOrNothing"])
        with self.assertRaises(L9MemoryError):
            self.stored(["text"] * 501, done, all_or_nothing=True)


def delete_all(memory: L9Memory) -> None:
    memory.graphql("{ x }")


def wait_for(is_so: Callable[[], bool]) -> None:
    while not is_so():
        threading.Event().wait(0.01)


if __name__ == "__main__":
    unittest.main()
