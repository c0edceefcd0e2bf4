"""Turns the classes of the answers into what a request selects, and answers into objects of these classes."""

from __future__ import annotations

import dataclasses
import re
from functools import lru_cache
from types import NoneType, UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

from ._errors import unexpected

T = TypeVar("T")


def camel(name: str) -> str:
    """``packet_id`` as GraphQL spells it, ``packetId``."""
    first, *others = name.split("_")
    return first + "".join(word.capitalize() for word in others)


@lru_cache(maxsize=None)
def hints_of(cls: type) -> dict[str, Any]:
    """The types of the fields of a class of answers."""
    hints = get_type_hints(cls)
    return {one.name: hints[one.name] for one in dataclasses.fields(cls)}


def selection(cls: type) -> str:
    """The selection set of GraphQL with all fields of a class."""
    parts = []
    for name, hint in hints_of(cls).items():
        inner = _class_in(hint)
        parts.append(camel(name) if inner is None else f"{camel(name)} {selection(inner)}")
    return "{ " + " ".join(parts) + " }"


def _class_in(hint: Any) -> type | None:
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        return hint
    return next((inner for inner in map(_class_in, get_args(hint)) if inner is not None), None)


def read(hint: Any, value: Any, place: str) -> Any:
    """The value as the type says. Raises UNEXPECTED_ANSWER, with the place, if it has another one."""
    if hint is Any:
        return value
    if get_origin(hint) in (Union, UnionType):
        others = [one for one in get_args(hint) if one is not NoneType]
        return None if value is None else read(others[0], value, place)
    if get_origin(hint) is list and isinstance(value, list):
        return [read(get_args(hint)[0], one, place) for one in value]
    if dataclasses.is_dataclass(hint) and isinstance(hint, type) and isinstance(value, dict):
        return hint(**{name: read(one, value.get(camel(name)), f"{place}.{camel(name)}") for name, one in hints_of(hint).items()})
    if hint is float and isinstance(value, (int, float)) and not isinstance(value, bool):
        return float(value)
    if hint is int and isinstance(value, int) and not isinstance(value, bool):
        return value
    # GraphQL writes integers of eight bytes as texts.
    if hint is int and isinstance(value, str) and re.fullmatch(r"-?\d{1,19}", value, re.ASCII):
        return int(value)
    if hint in (str, bool) and isinstance(value, hint):
        return value
    raise unexpected(f"{place} of the answer is not what the schema says: is the server an l9-memory of this version?")


def read_as(cls: type[T], value: Any, place: str) -> T:
    result: T = read(cls, value, place)
    return result
