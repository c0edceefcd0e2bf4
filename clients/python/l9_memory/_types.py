"""What calls answer. Each class names its type of the GraphQL schema, and each field one of that type, in snake case.

Times are texts in ISO 8601, as the server writes them, so that ``updated_at`` can be sent back as ``expected_version`` unchanged.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar


@dataclass(frozen=True)
class Memory:
    """A memory, whole."""

    graphql_type: ClassVar[str] = "Memory"

    packet_id: str
    #: The text as it was saved.
    content: str
    kind: str
    #: It decides who may read the memory.
    scope: str
    project_id: str | None
    #: The branch for which it holds; None: every branch.
    branch: str | None
    title: str | None
    tags: list[str]
    #: ``creator``, ``source`` and ``agent`` are stamped from the caller that saved it; other keys are the writer's.
    metadata: Any
    #: The content and the fields of its kind.
    envelope: Any
    thread_id: str | None
    session_id: str | None
    parent_ids: list[str]
    #: The memory that it is a part of, as a section is of its document.
    part_of: str | None
    speaker: str | None
    language: str
    #: When it happened.
    timestamp: str
    created_at: str
    #: When a caller last changed it: the ``expected_version`` of update and delete.
    updated_at: str
    #: When it expires; None: never.
    ttl: str | None
    archived_at: str | None
    #: From 0 to 1, by the writer.
    estimated_importance: float
    #: From 0 to 1, learned from its use.
    importance_score: float | None
    #: None, pending, approved or rejected.
    review_state: str | None
    review_reason: str | None
    #: The memory that superseded it.
    superseded_by: str | None
    #: The user and the org that own it; None: everyone in the org, or in the tenant.
    user_id: str | None
    org_id: str | None


@dataclass(frozen=True)
class SimilarMemory:
    graphql_type: ClassVar[str] = "SimilarMemory"

    packet_id: str
    #: From 0.75 to 1; 1 means the same words.
    similarity: float
    creator: str
    source: str | None
    is_own: bool | None
    review_state: str | None
    superseded_by: str | None


@dataclass(frozen=True)
class SaveResult:
    graphql_type: ClassVar[str] = "SaveMemoryPayload"

    #: inserted, updated (merged into ``memory``) or skipped_dedupe (``memory`` says it already).
    status: str
    #: None if the caller may not read what it wrote.
    memory: Memory | None
    #: How to save it better another time.
    notice: str | None
    #: How many secrets were replaced, where the tenant has that done.
    redacted: int | None
    #: Memories that say nearly the same.
    similar: list[SimilarMemory] | None


@dataclass(frozen=True)
class UpdateResult:
    graphql_type: ClassVar[str] = "UpdateMemoryPayload"

    #: updated, or skipped_dedupe if ``memory`` says it already.
    status: str
    memory: Memory | None
    redacted: int | None


@dataclass(frozen=True)
class StoredItem:
    graphql_type: ClassVar[str] = "StoredItem"

    #: The place of the item among those that were given, from 0.
    index: int
    status: str
    packet_id: str
    kind: str
    project_id: str | None
    branch: str | None
    created_at: str
    updated_at: str
    notice: str | None


@dataclass(frozen=True)
class FoundSecret:
    graphql_type: ClassVar[str] = "FoundSecret"

    path: str
    line: int
    column: int
    pattern: str


@dataclass(frozen=True)
class StoreError:
    """Why an item was not stored."""

    graphql_type: ClassVar[str] = "StoreError"

    index: int
    code: str
    message: str
    field: str | None
    sqlstate: str
    current: Any
    findings: list[FoundSecret] | None


@dataclass(frozen=True)
class StoreResult:
    """What became of the items of ``save_many``. One that fails is listed in ``errors``, and the others are stored."""

    graphql_type: ClassVar[str] = "MemoryStorePayload"

    stored: list[StoredItem] = field(default_factory=list)
    errors: list[StoreError] = field(default_factory=list)


@dataclass(frozen=True)
class Fact:
    """Something that is stated: subject, predicate, object."""

    graphql_type: ClassVar[str] = "Fact"

    fact_id: str
    subject: str
    predicate: str
    object: Any
    #: From 0 to 0.99, of all agents that state it.
    confidence: float
    agent_count: int
    contradiction_count: int
    is_from_admin: bool
    creator: str
    source: str | None
    scope: str
    project_id: str | None
    valid_from: str
    #: None: it still holds, unless it was retracted.
    valid_to: str | None
    recorded_at: str
    retracted_at: str | None
    #: The memory that states the fact which superseded this one.
    superseding_packet: str | None
    #: The memory that states it.
    source_packet: str


@dataclass(frozen=True)
class Relationship:
    """How two entities are related."""

    graphql_type: ClassVar[str] = "EntityRelationship"

    relationship_id: str
    source_entity: str
    relationship_type: str
    target_entity: str
    confidence: float
    agent_count: int
    #: How often it was stated.
    mention_count: int
    is_from_admin: bool
    creator: str
    scope: str
    project_id: str | None
    first_seen: str
    last_seen: str
    source_packet: str


@dataclass(frozen=True)
class Feedback:
    graphql_type: ClassVar[str] = "MemoryFeedback"

    access_id: str
    packet_id: str
    was_useful: bool
    reason: str | None
    given_at: str
