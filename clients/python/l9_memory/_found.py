"""What searches answer. Each class names its type of the GraphQL schema."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar


@dataclass(frozen=True)
class MemoryHit:
    """A memory that a search found."""

    graphql_type: ClassVar[str] = "MemoryHit"

    packet_id: str
    #: Cut after 8,000 characters (``is_truncated``); ``get`` returns all of it.
    content: str
    snippet: str
    is_truncated: bool
    kind: str
    scope: str
    project_id: str | None
    branch: str | None
    tags: list[str]
    thread_id: str | None
    speaker: str | None
    timestamp: str
    created_at: str
    updated_at: str
    #: From 0 to 1.
    score: float
    #: How likely it has to do with the query, from 0 to 1.
    relevance: float | None
    #: The shares of words and of meaning in the score.
    lexical_score: float | None
    semantic_score: float | None
    #: From 0 to 1, learned from its use.
    importance: float
    #: From 0 to 1, by its writer.
    estimated_importance: float
    #: The agent that wrote it, and its source.
    creator: str
    source: str | None
    is_own: bool | None
    #: The administrator whose text it is by now.
    text_creator: str | None
    review_state: str | None
    superseded_by: str | None
    is_partly_superseded: bool | None
    #: What ``feedback`` takes.
    access_id: str
    #: With ``explain``: how it scored.
    explanation: Any


@dataclass(frozen=True)
class NearestMemory:
    """A memory that may have to do with a query to which nothing fits well."""

    graphql_type: ClassVar[str] = "NearestMemory"

    packet_id: str
    snippet: str
    kind: str
    scope: str
    project_id: str | None
    score: float
    relevance: float | None
    creator: str
    source: str | None
    is_own: bool | None
    text_creator: str | None
    review_state: str | None
    superseded_by: str | None
    is_partly_superseded: bool | None


@dataclass(frozen=True)
class Searched:
    """What a search covered, so that an empty result is not mistaken for a missing permission."""

    graphql_type: ClassVar[str] = "MemorySearched"

    mode: str
    scopes: list[str]
    projects: list[str]
    k: int
    #: How many memories were considered.
    candidates: int
    #: How many of the k best were less relevant than ``min_relevance``.
    left_out: int
    min_relevance: float
    #: used, unavailable, or not asked for.
    vectors: str
    filters: Any
    #: What ``max_tokens`` removed.
    cut: Any
    notice: str | None


@dataclass(frozen=True)
class SearchResult:
    graphql_type: ClassVar[str] = "MemorySearchResult"

    #: The best first. Iterating over the result gives them.
    hits: list[MemoryHit]
    nearest: list[NearestMemory]
    searched: Searched

    def __iter__(self) -> Iterator[MemoryHit]:
        return iter(self.hits)

    def __len__(self) -> int:
        return len(self.hits)


@dataclass(frozen=True)
class FoundMemory:
    """A memory that ``find`` found, with the fields of its kind."""

    graphql_type: ClassVar[str] = "FoundMemory"

    packet_id: str
    title: str | None
    snippet: str
    #: The fields of its kind, shortened if ``is_cut``.
    fields: Any
    is_cut: bool
    kind: str
    scope: str
    project_id: str | None
    branch: str | None
    score: float
    #: How likely it is relevant, from 0 to 1; None without a query.
    confidence: float | None
    creator: str
    source: str | None
    is_own: bool | None
    text_creator: str | None
    review_state: str | None
    superseded_by: str | None
    is_partly_superseded: bool | None
    #: How it was found.
    route_used: str
    updated_at: str
    access_id: str
    explanation: Any


@dataclass(frozen=True)
class FindSearched:
    graphql_type: ClassVar[str] = "FindSearched"

    mode: str
    route_used: str
    scopes: list[str]
    projects: list[str]
    k: int
    candidates: int
    left_out: int
    vectors: str
    filters: Any
    cut: Any
    notice: str | None


@dataclass(frozen=True)
class Suggestion:
    graphql_type: ClassVar[str] = "FindSuggestion"

    reason: str
    value: str
    hits: int


@dataclass(frozen=True)
class FindResult:
    graphql_type: ClassVar[str] = "MemoryFindResult"

    hits: list[FoundMemory]
    nearest: list[NearestMemory]
    suggestions: list[Suggestion]
    searched: FindSearched

    def __iter__(self) -> Iterator[FoundMemory]:
        return iter(self.hits)

    def __len__(self) -> int:
        return len(self.hits)
