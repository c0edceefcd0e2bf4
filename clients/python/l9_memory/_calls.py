"""What all calls of the client share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from ._answers import read_as
from ._documents import DOCUMENTS
from ._errors import unexpected
from ._transport import Transport

T = TypeVar("T")


class Calls:
    _transport: Transport
    _project: str | None
    _branch: str | None

    def _place(self, scope: str | None, project: str | None, branch: str | None) -> dict[str, Any]:
        """The project and branch of a call. What is in scope global has none."""
        if scope == "global" and project is None:
            return {"project_id": None, "branch": branch}
        return {
            "project_id": self._project if project is None else project,
            "branch": self._branch if branch is None else branch,
        }

    def _call(self, name: str, variables: Mapping[str, Any], timeout: float | None, *, is_repeatable: bool = True) -> Any:
        """The one field that the document asks for."""
        data = self._transport.call(DOCUMENTS[name], variables, is_repeatable=is_repeatable, timeout=timeout)
        return next(iter(data.values()), None)

    def _payload(
        self, name: str, given: Mapping[str, Any], timeout: float | None, *, is_repeatable: bool = False
    ) -> Mapping[str, Any]:
        payload = self._call(name, {"input": given}, timeout, is_repeatable=is_repeatable)
        if not isinstance(payload, dict):
            raise unexpected(f"the answer to {name} is not what the schema says")
        return payload

    def _mutate(
        self, cls: type[T], name: str, given: Mapping[str, Any], timeout: float | None, *, is_repeatable: bool = False
    ) -> T:
        return read_as(cls, self._payload(name, given, timeout, is_repeatable=is_repeatable), name)
