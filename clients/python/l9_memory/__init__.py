"""Client of l9-memory, long-term memory for AI agents.

    from l9_memory import L9Memory

    with L9Memory("https://memory.example.com", key="l9_…", project="site") as memory:
        memory.save("Deploys go out on Fridays.", kind="rule")
        for hit in memory.search("when do deploys go out?"):
            print(hit.content)
"""

from ._client import L9Memory
from ._errors import L9MemoryError
from ._found import FindResult, FindSearched, FoundMemory, MemoryHit, NearestMemory, Searched, SearchResult, Suggestion
from ._input import Item
from ._pages import Pages
from ._types import (
    Fact,
    Feedback,
    FoundSecret,
    Memory,
    Relationship,
    SaveResult,
    SimilarMemory,
    StoredItem,
    StoreError,
    StoreResult,
    UpdateResult,
)

__all__ = [
    "Fact",
    "Feedback",
    "FindResult",
    "FindSearched",
    "FoundMemory",
    "FoundSecret",
    "Item",
    "L9Memory",
    "L9MemoryError",
    "Memory",
    "MemoryHit",
    "NearestMemory",
    "Pages",
    "Relationship",
    "SaveResult",
    "SearchResult",
    "Searched",
    "SimilarMemory",
    "StoreError",
    "StoreResult",
    "StoredItem",
    "Suggestion",
    "UpdateResult",
]
