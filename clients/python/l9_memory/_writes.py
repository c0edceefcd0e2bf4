"""The calls that write."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ._answers import read, read_as
from ._calls import Calls
from ._errors import L9MemoryError, invalid
from ._input import ITEM_FIELDS, Id, Item, Time, batches, texts, variables_of
from ._types import Feedback, Relationship, SaveResult, StoreResult, UpdateResult


class Writes(Calls):
    def save(
        self,
        content: str | None = None,
        *,
        kind: str | None = None,
        scope: str | None = None,
        project: str | None = None,
        branch: str | None = None,
        tags: Sequence[str] | None = None,
        metadata: Mapping[str, Any] | None = None,
        envelope: Mapping[str, Any] | None = None,
        importance: float | None = None,
        thread_id: str | None = None,
        speaker: str | None = None,
        parent_ids: Sequence[Id] | None = None,
        timestamp: Time | None = None,
        ttl: Time | None = None,
        language: str | None = None,
        on_similar: str | None = None,
        provenance: Mapping[str, Any] | None = None,
        routing: Mapping[str, Any] | None = None,
        session_id: str | None = None,
        correlation_id: str | None = None,
        trace_id: str | None = None,
        idempotency_key: str | None = None,
        timeout: float | None = None,
    ) -> SaveResult:
        """Saves a memory. What is known already is not saved again: then ``status`` is skipped_dedupe.

        ``scope``: who can read it: developer (the default: those of the project), global, or one of your own.
        ``on_similar``: keep, skip or merge, where another one says nearly the same.
        """
        given = variables_of(
            **{"content": content, "kind": kind, "scope": scope, "tags": texts("tags", tags), "metadata": metadata},
            **{"envelope": envelope, "importance": importance, "thread_id": thread_id, "speaker": speaker, "ttl": ttl},
            **{"parent_ids": texts("parent_ids", parent_ids), "timestamp": timestamp, "language": language},
            **{"on_similar": on_similar, "provenance": provenance, "routing": routing, "session_id": session_id},
            **{"correlation_id": correlation_id, "trace_id": trace_id, **self._place(scope, project, branch)},
            idempotency_key=self._key(idempotency_key),
        )
        return self._mutate(SaveResult, "save", given, timeout, is_repeatable="idempotencyKey" in given)

    def save_many(
        self, items: Iterable[Item | Mapping[str, Any] | str], *, all_or_nothing: bool = False, timeout: float | None = None
    ) -> StoreResult:
        """Saves any number of memories, in batches of at most 500. A text is a note; :class:`Item` has the fields of others.

        An item that the server refuses is listed in ``errors``, and the others are stored; with ``all_or_nothing`` none is, and
        all have to fit into one batch. ``timeout`` is that of each batch. If a batch fails as a whole, ``error.data`` holds
        under ``result`` what became of the batches before.
        """
        result = StoreResult()
        source = batches(self._item(index, item) for index, item in enumerate(items))
        if all_or_nothing:
            parts = list(source)
            if len(parts) > 1:
                raise invalid("items", "at most 500, and 2 MB, can be stored all or none")
            source = iter(parts)
        offset = 0
        for batch in source:
            given = {"items": batch, **({"allOrNothing": True} if all_or_nothing else {})}
            is_repeatable = all("idempotencyKey" in item for item in batch)
            try:
                stored = self._mutate(StoreResult, "save_many", given, timeout, is_repeatable=is_repeatable)
            except L9MemoryError as error:
                error.data = {"result": result}
                raise
            result.stored.extend(replace(one, index=one.index + offset) for one in stored.stored)
            result.errors.extend(replace(one, index=one.index + offset) for one in stored.errors)
            offset += len(batch)
        return result

    def update(
        self,
        packet_id: Id,
        *,
        content: str | None = None,
        kind: str | None = None,
        scope: str | None = None,
        project: str | None = None,
        branch: str | None = None,
        tags: Sequence[str] | None = None,
        metadata: Mapping[str, Any] | None = None,
        envelope: Mapping[str, Any] | None = None,
        importance: float | None = None,
        thread_id: str | None = None,
        speaker: str | None = None,
        parent_ids: Sequence[Id] | None = None,
        timestamp: Time | None = None,
        ttl: Time | None = None,
        language: str | None = None,
        clear: Sequence[str] | None = None,
        expected_version: Time | None = None,
        timeout: float | None = None,
    ) -> UpdateResult:
        """Changes what is given, and keeps the rest. ``clear``: what to empty, such as ``["tags"]``.

        ``expected_version``: its ``updated_at`` as you read it. VERSION_CONFLICT if it has changed since.
        """
        given = variables_of(
            **{"packet_id": str(packet_id), "content": content, "kind": kind, "scope": scope, "project_id": project},
            **{"branch": branch, "tags": texts("tags", tags), "metadata": metadata, "envelope": envelope, "ttl": ttl},
            **{"importance": importance, "thread_id": thread_id, "speaker": speaker, "timestamp": timestamp},
            **{"parent_ids": texts("parent_ids", parent_ids), "language": language, "clear": texts("clear", clear)},
            expected_version=expected_version,
        )
        return self._mutate(UpdateResult, "update", given, timeout)

    def delete(self, packet_id: Id, *, expected_version: Time | None = None, timeout: float | None = None) -> None:
        """Deletes a memory and all that was derived from it. NOT_YOURS if the caller did not write it."""
        given = variables_of(packet_id=str(packet_id), expected_version=expected_version)
        self._payload("delete", given, timeout)

    def relate(
        self,
        source: str,
        type: str,
        target: str,
        *,
        confidence: float | None = None,
        project: str | None = None,
        scope: str | None = None,
        source_packet: Id | None = None,
        timeout: float | None = None,
    ) -> Relationship | None:
        """States how two entities are related: ``relate("billing", "depends_on", "postgres")``.

        None while it waits for a review.
        """
        given = variables_of(
            **{"source": source, "type": type, "target": target, "confidence": confidence, "scope": scope},
            source_packet=source_packet,
            project_id=None if source_packet else self._place(scope, project, None).get("project_id"),
        )
        payload = self._payload("relate", given, timeout)
        related: Relationship | None = read(Relationship | None, payload.get("relationship"), "relate.relationship")
        return related

    def feedback(
        self, access_id: str, was_useful: bool, *, reason: str | None = None, timeout: float | None = None
    ) -> Feedback:
        """Says whether a hit was useful: the ``access_id`` of a hit. A later rating replaces the earlier one."""
        given = variables_of(access_id=access_id, was_useful=was_useful, reason=reason)
        payload = self._payload("feedback", given, timeout, is_repeatable=True)
        return read_as(Feedback, payload.get("feedback"), "recordFeedback.feedback")

    def _key(self, given: str | None) -> str | None:
        return given if given is not None or self._transport.max_retries == 0 else str(uuid.uuid4())

    def _item(self, index: int, item: Item | Mapping[str, Any] | str) -> dict[str, Any]:
        given: dict[str, Any] = {"content": item} if isinstance(item, str) else dict(item)
        for name in given.keys() - ITEM_FIELDS:
            raise invalid(f"items[{index}]", f"has no field {name}; the fields of a kind belong into data")
        data = dict(given.pop("data", None) or {})
        if "content" in given:
            data["content"] = given.pop("content")
        place = self._place(given.get("scope"), given.pop("project", None), given.pop("branch", None))
        for name in ("tags", "citations", "parent_ids"):
            given[name] = texts(f"items[{index}].{name}", given.get(name))
        given["idempotency_key"] = self._key(given.get("idempotency_key"))
        return variables_of(**{**given, **place}, data=data)
