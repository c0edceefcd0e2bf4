"""The client against a real gateway, whose address and keys the environment has."""

from __future__ import annotations

import os
import threading
import unittest
import uuid
from datetime import datetime, timedelta, timezone
from typing import Any

from l9_memory import L9Memory, L9MemoryError

URL = os.environ.get("L9_URL", "")


@unittest.skipUnless(URL, "L9_URL names no gateway")
class Server(unittest.TestCase):
    memory: L9Memory
    project = f"py-{uuid.uuid4()}"

    @classmethod
    def setUpClass(cls) -> None:
        cls.memory = L9Memory(URL, key=os.environ["L9_KEY"], project=cls.project)
        cls.addClassCleanup(cls.memory.close)

    def code_of(self, error: L9MemoryError) -> tuple[str, str | None, str | None]:
        return (error.code, error.sqlstate, error.field)

    def test_saves_finds_changes_and_deletes(self) -> None:
        memory = self.memory
        text = "The staging cluster of Münster \U0001f33f lives in Frankfurt. e\u0301 \u05d0"
        when = datetime.now(timezone.utc) - timedelta(days=3)
        saved = memory.save(text, kind="rule", tags=["ops", "münster"], metadata={"ticket": 7}, timestamp=when)
        self.assertEqual(saved.status, "inserted")
        assert saved.memory is not None
        self.assertEqual(
            (saved.memory.content, saved.memory.kind, saved.memory.project_id, sorted(saved.memory.tags)),
            (text, "rule", self.project, ["münster", "ops"]),
        )
        self.assertEqual(memory.save(text, kind="rule").status, "skipped_dedupe")
        packet_id = saved.memory.packet_id
        self.assertEqual(memory.get(packet_id), memory.get(uuid.UUID(packet_id)))
        self.assertEqual(memory.get(packet_id).metadata["ticket"], 7)

        found = memory.search("where is the staging cluster?", k=3, explain=True)
        hit = next(iter(found))
        self.assertEqual((hit.packet_id, hit.content, len(found) <= 3), (packet_id, text, True))
        self.assertEqual(found.searched.filters["project_id"], self.project)
        self.assertIsNotNone(hit.explanation)
        rated = memory.feedback(hit.access_id, True, reason="it was the answer")
        self.assertEqual((rated.packet_id, rated.was_useful), (packet_id, True))

        listed = list(memory.list(kind="rule", since=when - timedelta(hours=1), until=when + timedelta(hours=1)))
        self.assertEqual([one.packet_id for one in listed], [packet_id])
        version = saved.memory.updated_at
        changed = memory.update(packet_id, content="It moved to Berlin.", clear=["tags"], expected_version=version)
        assert changed.memory is not None
        self.assertEqual((changed.status, changed.memory.tags), ("updated", []))
        with self.assertRaises(L9MemoryError) as caught:
            memory.update(packet_id, content="It moved to Bonn.", expected_version=version)
        self.assertEqual(self.code_of(caught.exception)[:2], ("VERSION_CONFLICT", "L9VER"))
        self.assertEqual((caught.exception.current or {})["content"], "It moved to Berlin.")
        memory.delete(packet_id, expected_version=changed.memory.updated_at)
        for call in (memory.get, memory.delete):
            with self.assertRaises(L9MemoryError) as caught:
                call(packet_id)
            self.assertEqual(self.code_of(caught.exception)[:2], ("NOT_YOURS", "L9OWN"))

    def test_stores_and_finds_memories_of_a_kind(self) -> None:
        todo = {"text": "Renew the certificate", "status": "open", "priority": "high"}
        result = self.memory.save_many(
            [
                {"kind": "todo", "data": todo, "tags": ["ops"]},
                {"content": "A plain note about certificates."},
                {"kind": "todo", "data": {"text": "Sleep", "status": "unheard of"}},
                "Another plain note about certificates.",
            ]
        )
        self.assertEqual([one.index for one in result.stored], [0, 1, 3])
        self.assertEqual([(one.index, one.code) for one in result.errors], [(2, "INVALID_INPUT")])
        found = self.memory.find("certificate", kinds=["todo"])
        self.assertEqual([one.fields["text"] for one in found], ["Renew the certificate"])
        self.assertEqual(self.memory.find(kinds=["todo"], where={"priority": "low"}).hits, [])
        none = self.memory.save_many(["one", {"kind": "todo", "data": {}}], all_or_nothing=True)
        self.assertEqual((none.stored, [one.index for one in none.errors]), ([], [1]))

    def test_lists_page_by_page(self) -> None:
        project = f"{self.project}-many"
        items = ({"content": f"Reading number {number} of the meter.", "project": project} for number in range(30))
        result = self.memory.save_many(items)
        self.assertEqual((result.errors, [one.index for one in result.stored]), ([], list(range(30))))
        pages = list(self.memory.list(project=project, page_size=12).pages())
        self.assertEqual([len(page) for page in pages], [12, 12, 6])
        ids = [one.packet_id for page in pages for one in page]
        self.assertEqual(set(ids), {one.packet_id for one in result.stored})
        first = next(iter(self.memory.list(project=project, page_size=1, oldest_first=True)))
        self.assertEqual(first.packet_id, ids[-1])

    def test_states_relations_and_reads_facts(self) -> None:
        related = self.memory.relate("billing-api", "depends_on", "postgres", confidence=0.7)
        assert related is not None
        self.assertEqual((related.source_entity, related.target_entity, related.mention_count), ("billing-api", "postgres", 1))
        self.memory.graphql(
            "mutation ($input: AssertFactInput!) { assertFact(input: $input) { fact { factId } } }",
            {"input": {"subject": "billing-api", "predicate": "listens on", "object": 8080, "projectId": self.project}},
        )
        (fact,) = self.memory.facts("billing-api", predicate="listens on")
        self.assertEqual((fact.subject, fact.object, fact.project_id), ("billing-api", 8080, self.project))
        self.assertEqual(len(self.memory.facts("billing-api", object=8080)), 1)
        self.assertEqual(self.memory.facts("nobody knows this"), [])

    def test_gives_the_first_answer_to_a_repeated_key(self) -> None:
        key = str(uuid.uuid4())
        first = self.memory.save("A text that is sent twice.", idempotency_key=key)
        again = self.memory.save("A text that is sent twice.", idempotency_key=key)
        self.assertEqual((first.status, again.status), ("inserted", "inserted"))
        with self.assertRaises(L9MemoryError) as caught:
            self.memory.save("Another text.", idempotency_key=key)
        self.assertEqual(caught.exception.code, "INVALID_INPUT")

    def test_tells_errors_by_code_and_field(self) -> None:
        with self.assertRaises(L9MemoryError) as caught:
            self.memory.save("")
        self.assertEqual(self.code_of(caught.exception), ("INVALID_INPUT", "L9VAL", "content"))
        with self.assertRaises(L9MemoryError) as caught:
            self.memory.search("a question", k=1000)
        self.assertEqual((caught.exception.sqlstate, caught.exception.field), ("L9VAL", "k"))
        with self.assertRaises(L9MemoryError) as caught:
            self.memory.save("The password is AKIAIOSFODNN7EXAMPLX, key wJalrXUtnFEMI/K7MDENG/bPxRfiCYKLMNOPQRST")
        self.assertEqual(caught.exception.code, "SECRET_FOUND")
        self.assertEqual([one["path"] for one in caught.exception.findings][:1], ["content"])
        with self.assertRaises(L9MemoryError) as caught:
            self.memory.graphql("{ nonsense }")
        self.assertEqual(caught.exception.code, "INVALID_INPUT")
        strangers: list[dict[str, Any]] = [{"key": "l9_wrong_key_0123456789abcdef"}, {"token": "eyJhbGciOiJub25lIn0.e30."}]
        for secret in strangers:
            with L9Memory(URL, **secret) as stranger, self.assertRaises(L9MemoryError) as caught:
                stranger.search("anything")
            self.assertEqual(self.code_of(caught.exception)[:2], ("UNAUTHENTICATED", "L9AUT"))
            self.assertEqual(caught.exception.status, 401)

    def test_knows_nothing_of_what_the_caller_may_not_read(self) -> None:
        with L9Memory(URL, key=os.environ["L9_KEY_OF_L"], project=self.project) as admin:
            hidden = admin.save("The zebra protocol begins at dawn.", scope="l-private").memory
        assert hidden is not None
        self.assertEqual(list(self.memory.search("when does the zebra protocol begin?", scopes=["l-private"])), [])
        self.assertEqual(list(self.memory.list(scope="l-private")), [])
        errors = []
        for packet_id in (hidden.packet_id, str(uuid.uuid4())):
            for call in (self.memory.get, self.memory.delete, lambda one: self.memory.update(one, content="mine")):
                with self.assertRaises(L9MemoryError) as caught:
                    call(packet_id)
                errors.append((caught.exception.code, caught.exception.message.replace(packet_id, "ID")))
        self.assertEqual(errors[:3], errors[3:])
        with self.assertRaises(L9MemoryError) as caught:
            self.memory.save("The zebra protocol begins at dawn.", scope="l-private")
        self.assertEqual(caught.exception.code, "SCOPE_DENIED")

    def test_leaves_the_project_out_where_the_scope_has_none(self) -> None:
        text = f"Everyone may know {uuid.uuid4()}."
        saved = self.memory.save(text, scope="global").memory
        assert saved is not None
        self.assertIsNone(saved.project_id)
        self.assertIn(saved.packet_id, [hit.packet_id for hit in self.memory.search(text)])
        result = self.memory.save_many([{"content": f"{text} Again.", "scope": "global"}])
        self.assertEqual([one.project_id for one in result.stored], [None])

    def test_takes_tokens_and_serves_threads(self) -> None:
        asked: list[int] = []

        def token() -> str:
            asked.append(1)
            return os.environ["L9_TOKEN"]

        with L9Memory(URL, token=token, project=self.project) as memory:
            statuses: list[str] = []
            threads = [
                threading.Thread(target=lambda n=n: statuses.append(memory.save(f"Thread {n} was here.").status))
                for n in range(8)
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        self.assertEqual(statuses, ["inserted"] * 8)
        self.assertEqual(len(asked), 8)

    def test_counts_bytes_as_the_server_does(self) -> None:
        # Escaped, the letters would have six bytes each, and the request more than it may have.
        with self.assertRaises(L9MemoryError) as caught:
            self.memory.save("\u0436" * (512 * 1024 + 1))
        self.assertEqual(self.code_of(caught.exception), ("LIMIT_EXCEEDED", "L9LIM", "content"))


if __name__ == "__main__":
    unittest.main()
