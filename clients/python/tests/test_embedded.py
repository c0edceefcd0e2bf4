"""A server of a home folder that the client finds, or starts and ends. The environment has the command and the folder."""

from __future__ import annotations

import json
import os
import tempfile
import unittest
from pathlib import Path

from l9_memory import L9Memory, L9MemoryError

COMMAND = json.loads(os.environ.get("L9_MEMORY_COMMAND", "null"))


class Embedded(unittest.TestCase):
    @unittest.skipUnless(COMMAND, "L9_MEMORY_COMMAND names no l9-memory")
    def test_starts_a_server_uses_one_that_runs_and_ends_what_it_started(self) -> None:
        home = os.environ["L9_MEMORY_TEST_HOME"]
        with L9Memory.embedded(home, command=COMMAND, project="p", start_timeout=500, timeout=300) as memory:
            memory.save("The server of this folder was started by Python.")
            with L9Memory.embedded(home, command=COMMAND, project="p", timeout=300) as second:
                self.assertEqual(second.url, memory.url)
                self.assertEqual(len(second.search("who started the server?")), 1)
            self.assertEqual(memory.save("It still runs.").status, "inserted")
            with self.assertRaises(L9MemoryError) as caught:
                L9Memory.embedded(home, command=COMMAND, caller="Nobody")
            self.assertEqual(caught.exception.code, "INVALID_INPUT")
        with L9Memory(memory.url, key="a-key", max_retries=0) as memory, self.assertRaises(L9MemoryError) as caught:
            memory.get("x")
        self.assertEqual(caught.exception.code, "UNREACHABLE")

    def test_says_why_no_server_starts(self) -> None:
        with tempfile.TemporaryDirectory() as home:
            for command, reason in (
                ("l9-memory-that-is-not-there", "is not installed"),
                (["sh", "-c", "echo '{\"level\":\"info\"}'; echo no room for it >&2; exit 1", "sh"], "no room for it"),
                (["sh", "-c", "exit 7", "sh"], "it ended with 7"),
            ):
                with self.assertRaises(L9MemoryError) as caught:
                    L9Memory.embedded(home, command=command)
                self.assertEqual(caught.exception.code, "NOT_STARTED")
                self.assertIn(reason, caught.exception.message)

    def test_takes_no_other_server_for_that_of_the_folder(self) -> None:
        with tempfile.TemporaryDirectory() as home:
            for content in (
                *("", "[]", "{", '{"url": 1}', '{"url": "http://127.0.0.1:1", "instance": "x"}'),
                *('{"url": "http://user:pw@127.0.0.1:1", "instance": "x"}', '{"url": "file:///etc", "instance": "x"}'),
            ):
                Path(home, "server.json").write_text(content)
                with self.assertRaises(L9MemoryError) as caught:
                    L9Memory.embedded(home, command="l9-memory-that-is-not-there")
                self.assertEqual(caught.exception.code, "NOT_STARTED")


if __name__ == "__main__":
    unittest.main()
