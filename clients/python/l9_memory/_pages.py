"""Lists that are fetched page by page."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ._answers import read
from ._errors import unexpected
from ._types import Memory


class Pages:
    """A list of memories. Iterating gives one after the other, :meth:`pages` a list for each request; each begins anew."""

    def __init__(self, fetch: Callable[[str | None], Any]) -> None:
        self._fetch = fetch

    def __iter__(self) -> Iterator[Memory]:
        for page in self.pages():
            yield from page

    def pages(self) -> Iterator[list[Memory]]:
        """The pages, as lists that are never empty. A page is fetched when the one before it was used."""
        after: str | None = None
        while True:
            connection = self._fetch(after)
            info = connection.get("pageInfo") if isinstance(connection, dict) else None
            if not isinstance(info, dict):
                raise unexpected("the page of the answer is not what the schema says")
            page: list[Memory] = read(list[Memory], connection.get("nodes"), "memories.nodes")
            if page:
                yield page
            if info.get("hasNextPage") is not True:
                return
            end = info.get("endCursor")
            if not isinstance(end, str) or end == after:
                raise unexpected("the answer has a next page, but no cursor that leads there")
            after = end
