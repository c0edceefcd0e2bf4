"""The documents of GraphQL that the client sends."""

from __future__ import annotations

from ._answers import camel, selection
from ._found import FindResult, SearchResult
from ._types import Fact, Feedback, Memory, Relationship, SaveResult, StoreResult, UpdateResult

#: The arguments of the queries, in snake case, with their types.
SEARCH = {
    "query": "String",
    "packet_id": "UUID",
    "k": "Int",
    "mode": "SearchMode",
    "project_id": "String",
    "branch": "String",
    "scopes": "[String!]",
    "kinds": "[String!]",
    "tags": "[String!]",
    "tags_match": "TagsMatch",
    "thread_id": "String",
    "speaker": "String",
    "creator": "String",
    "since": "Datetime",
    "until": "Datetime",
    "as_of": "Datetime",
    "where": "JSON",
    "language": "String",
    "min_relevance": "Float",
    "threshold": "Float",
    "max_tokens": "Int",
    "include_archived": "Boolean",
    "include_pending": "Boolean",
    "explain": "Boolean",
}
FIND = {
    "query": "String",
    "k": "Int",
    "mode": "FindMode",
    "project_id": "String",
    "branch": "String",
    "scopes": "[String!]",
    "kinds": "[String!]",
    "since": "Datetime",
    "until": "Datetime",
    "where": "JSON",
    "max_tokens": "Int",
    "include_archived": "Boolean",
    "include_pending": "Boolean",
    "explain": "Boolean",
}
FACTS = {
    "subject": "String",
    "predicate": "String",
    "object": "JSON",
    "project_id": "String",
    "scope": "String",
    "k": "Int",
    "min_confidence": "Float",
    "include_history": "Boolean",
    "valid_at": "Datetime",
}
LIST = {
    "filter": "MemoryFilter",
    "where": "JSON",
    "first": "Int!",
    "after": "Cursor",
    "include_archived": "Boolean",
    "order_by": "[MemoryOrderBy!]",
}


def _query(field: str, arguments: dict[str, str], selected: str) -> str:
    declared = ", ".join(f"${camel(name)}: {of}" for name, of in arguments.items())
    passed = ", ".join(f"{camel(name)}: ${camel(name)}" for name in arguments)
    return f"query ({declared}) {{ {field}({passed}) {selected} }}"


def _mutation(field: str, input_type: str, selected: str) -> str:
    return f"mutation ($input: {input_type}!) {{ {field}(input: $input) {selected} }}"


_PAGE = f"{{ nodes {selection(Memory)} pageInfo {{ hasNextPage endCursor }} }}"

DOCUMENTS = {
    "save": _mutation("saveMemory", "SaveMemoryInput", selection(SaveResult)),
    "save_many": _mutation("memoryStore", "MemoryStoreInput", selection(StoreResult)),
    "update": _mutation("updateMemory", "UpdateMemoryInput", selection(UpdateResult)),
    "delete": _mutation("deleteMemory", "DeleteMemoryInput", "{ packetId }"),
    "relate": _mutation("relate", "RelateInput", f"{{ relationship {selection(Relationship)} }}"),
    "feedback": _mutation("recordFeedback", "RecordFeedbackInput", f"{{ feedback {selection(Feedback)} }}"),
    "get": _query("getMemory", {"packet_id": "UUID!"}, selection(Memory)),
    "search": _query("searchMemory", SEARCH, selection(SearchResult)),
    "find": _query("memoryFind", FIND, selection(FindResult)),
    "facts": _query("findFacts", FACTS, selection(Fact)),
    "list": _query("memories", LIST, _PAGE),
}
