"""Prints as JSON what the client sends and expects, for a test that compares it with the GraphQL schema."""

from __future__ import annotations

import dataclasses
import inspect
import json
from types import NoneType
from typing import Any, get_args, get_origin

from l9_memory import L9Memory, _found, _types
from l9_memory._answers import camel, hints_of
from l9_memory._documents import DOCUMENTS
from l9_memory._input import ITEM_FIELDS

# What the methods call otherwise, and what the client sends by itself.
RENAMED = {"project": "project_id"}
NOT_SENT = {"self", "timeout"}


def type_of(hint: Any) -> dict[str, Any]:
    """The name of the type in GraphQL, where there is one, and whether it may be null or is a list."""
    parts = [one for one in get_args(hint) if one is not NoneType]
    if get_origin(hint) is list:
        return {**type_of(parts[0]), "isList": True, "isNullable": False}
    if parts:
        return {**type_of(parts[0]), "isNullable": True}
    name = getattr(hint, "graphql_type", None) or ("any" if hint is Any else hint.__name__)
    return {"name": name, "isNullable": hint is Any, "isList": False}


def classes() -> dict[str, Any]:
    found = [one for module in (_types, _found) for one in vars(module).values() if dataclasses.is_dataclass(one)]
    return {
        getattr(one, "graphql_type"): {camel(name): type_of(hint) for name, hint in hints_of(one).items()}
        for one in found
        if isinstance(one, type)
    }


def arguments(method: str) -> list[str]:
    names = inspect.signature(getattr(L9Memory, method)).parameters
    return sorted(camel(RENAMED.get(name, name)) for name in names if name not in NOT_SENT)


print(
    json.dumps(
        {
            "documents": DOCUMENTS,
            "classes": classes(),
            "arguments": {
                name: arguments(name) for name in ("save", "update", "delete", "relate", "feedback", "search", "find", "facts")
            },
            "itemFields": sorted(camel(RENAMED.get(name, name)) for name in ITEM_FIELDS - {"content"}),
        }
    )
)
