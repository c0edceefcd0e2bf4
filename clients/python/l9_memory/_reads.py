"""The calls that read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ._answers import camel, read, read_as
from ._calls import Calls
from ._errors import invalid
from ._found import FindResult, SearchResult
from ._input import Id, Time, texts, variables_of
from ._pages import Pages
from ._types import Fact, Memory


class Reads(Calls):
    def search(
        self,
        query: str | None = None,
        *,
        k: int | None = None,
        mode: str | None = None,
        project: str | None = None,
        branch: str | None = None,
        scopes: Sequence[str] | None = None,
        kinds: Sequence[str] | None = None,
        tags: Sequence[str] | None = None,
        tags_match: str | None = None,
        thread_id: str | None = None,
        speaker: str | None = None,
        creator: str | None = None,
        since: Time | None = None,
        until: Time | None = None,
        as_of: Time | None = None,
        where: Mapping[str, Any] | None = None,
        packet_id: Id | None = None,
        language: str | None = None,
        min_relevance: float | None = None,
        threshold: float | None = None,
        max_tokens: int | None = None,
        include_archived: bool | None = None,
        include_pending: bool | None = None,
        explain: bool | None = None,
        timeout: float | None = None,
    ) -> SearchResult:
        """Finds memories by words and by meaning (``mode``: hybrid, lexical, semantic or graph), the best first.

        With ``packet_id``: those similar to that one. Without either, but with a filter such as ``tags``: the newest.
        """
        given = variables_of(
            **{"query": query, "k": k, "mode": mode, "scopes": texts("scopes", scopes), "kinds": texts("kinds", kinds)},
            **{"tags": texts("tags", tags), "tags_match": tags_match, "thread_id": thread_id, "speaker": speaker},
            **{"creator": creator, "since": since, "until": until, "as_of": as_of, "where": where, "packet_id": packet_id},
            **{"language": language, "min_relevance": min_relevance, "threshold": threshold, "max_tokens": max_tokens},
            **{"include_archived": include_archived, "include_pending": include_pending, "explain": explain},
            **self._place(None, project, branch),
        )
        return read_as(SearchResult, self._call("search", given, timeout), "searchMemory")

    def find(
        self,
        query: str | None = None,
        *,
        k: int | None = None,
        mode: str | None = None,
        project: str | None = None,
        branch: str | None = None,
        scopes: Sequence[str] | None = None,
        kinds: Sequence[str] | None = None,
        since: Time | None = None,
        until: Time | None = None,
        where: Mapping[str, Any] | None = None,
        max_tokens: int | None = None,
        include_archived: bool | None = None,
        include_pending: bool | None = None,
        explain: bool | None = None,
        timeout: float | None = None,
    ) -> FindResult:
        """Finds memories that have the fields of a kind, by kind, fields (``where``) or identifier, with their fields."""
        given = variables_of(
            **{"query": query, "k": k, "mode": mode, "scopes": texts("scopes", scopes), "kinds": texts("kinds", kinds)},
            **{"since": since, "until": until, "where": where, "max_tokens": max_tokens, "explain": explain},
            **{"include_archived": include_archived, "include_pending": include_pending},
            **self._place(None, project, branch),
        )
        return read_as(FindResult, self._call("find", given, timeout), "memoryFind")

    def list(
        self,
        *,
        kind: str | None = None,
        scope: str | None = None,
        project: str | None = None,
        thread_id: str | None = None,
        since: Time | None = None,
        until: Time | None = None,
        where: Mapping[str, Any] | None = None,
        include_archived: bool | None = None,
        oldest_first: bool = False,
        page_size: int = 100,
        timeout: float | None = None,
    ) -> Pages:
        """All memories that the caller may read, the newest first by their time, fetched page by page while one iterates.

        ``project``: only of this project. ``timeout`` is that of each page.
        """
        if isinstance(page_size, bool) or not isinstance(page_size, int) or not 1 <= page_size <= 1000:
            raise invalid("page_size", "must be 1 to 1000")
        project = self._project if project is None else project
        span = variables_of(greater_than_or_equal_to=since, less_than=until)
        equal = {"kind": kind, "scope": scope, "project_id": None if project in ("", "*") else project, "thread_id": thread_id}
        matches: dict[str, Any] = {camel(name): {"equalTo": value} for name, value in equal.items() if value is not None}
        if span:
            matches["timestamp"] = span
        given = variables_of(
            **{"filter": matches or None, "where": where, "include_archived": include_archived, "first": page_size},
            order_by=["TIMESTAMP_ASC", "PACKET_ID_ASC"] if oldest_first else ["TIMESTAMP_DESC", "PACKET_ID_DESC"],
        )
        return Pages(lambda after: self._call("list", {**given, "after": after}, timeout))

    def get(self, packet_id: Id, *, timeout: float | None = None) -> Memory:
        """A memory, whole. NOT_YOURS if there is none that the caller may read."""
        return read_as(Memory, self._call("get", {"packetId": str(packet_id)}, timeout), "getMemory")

    def facts(
        self,
        subject: str | None = None,
        *,
        predicate: str | None = None,
        object: Any = None,
        project: str | None = None,
        scope: str | None = None,
        k: int | None = None,
        min_confidence: float | None = None,
        include_history: bool | None = None,
        valid_at: Time | None = None,
        timeout: float | None = None,
    ) -> Sequence[Fact]:
        """Facts by subject, predicate or object, the most confident first; ``include_history``: also those that ended."""
        given = variables_of(
            **{"subject": subject, "predicate": predicate, "object": object, "scope": scope, "k": k},
            **{"min_confidence": min_confidence, "include_history": include_history, "valid_at": valid_at},
            project_id=self._project if project is None else project,
        )
        found: Sequence[Fact] = read(list[Fact], self._call("facts", given, timeout), "findFacts")
        return found
