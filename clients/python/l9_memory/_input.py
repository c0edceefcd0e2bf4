"""Turns the arguments of methods into variables of GraphQL."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from typing import Any, TypedDict, Union
from uuid import UUID

from ._answers import camel
from ._errors import invalid
from ._json import encode, time_text

#: A time: a datetime with a zone, or a text in ISO 8601.
Time = Union[str, date]
#: An id, as a text or a UUID.
Id = Union[str, UUID]

# What the server takes in one call.
BATCH_ITEMS = 500
# A request may have 2 MiB; the rest is for the document.
BATCH_BYTES = 2_000_000


class Item(TypedDict, total=False):
    """A memory for ``save_many``: ``content``, or in ``data`` the fields of its kind."""

    content: str
    data: Mapping[str, Any]
    kind: str
    scope: str
    project: str
    branch: str
    tags: Sequence[str]
    citations: Sequence[Id]
    parent_ids: Sequence[Id]
    thread_id: str
    speaker: str
    language: str
    timestamp: Time
    ttl_policy: str
    expected_version: Time
    idempotency_key: str


ITEM_FIELDS = frozenset(Item.__annotations__)


def variables_of(**given: Any) -> dict[str, Any]:
    """What was given, under the names of GraphQL. What is None is left out."""
    for name, value in given.items():
        if isinstance(value, date):
            given[name] = time_text(name, value)
        elif isinstance(value, (bytes, bytearray)):
            raise invalid(name, "must be a text, not bytes")
    return {camel(name): value for name, value in given.items() if value is not None}


def texts(field: str, values: Sequence[Any] | None) -> list[str] | None:
    """A list of texts or ids. A single text would be taken for a list of its letters."""
    if values is None:
        return None
    if isinstance(values, (str, bytes)) or not all(isinstance(one, (str, UUID)) for one in values):
        raise invalid(field, "must be a list of texts")
    return [str(one) for one in values]


def batches(items: Iterator[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    """Lists of items that fit into one request each. One that is too large by itself goes alone: the server refuses it."""
    batch: list[dict[str, Any]] = []
    size = 0
    for item in items:
        length = len(encode(item)) + 1
        if batch and (len(batch) == BATCH_ITEMS or size + length > BATCH_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(item)
        size += length
    if batch:
        yield batch
