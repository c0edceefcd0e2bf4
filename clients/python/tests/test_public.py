"""What the package offers: names, annotations, and that it needs the standard library only."""

from __future__ import annotations

import ast
import compileall
import inspect
import sys
import unittest
from pathlib import Path
from typing import get_type_hints

import l9_memory

FOLDER = Path(l9_memory.__file__).parent
# The surface that the client for TypeScript has, too.
METHODS = "save search find list get update delete facts relate feedback graphql".split()


class Package(unittest.TestCase):
    def test_offers_the_methods_of_the_other_client(self) -> None:
        for name in METHODS:
            self.assertTrue(callable(getattr(l9_memory.L9Memory, name)), name)

    def test_exports_what_it_lists(self) -> None:
        self.assertEqual(sorted(l9_memory.__all__), sorted(set(l9_memory.__all__)))
        for name in l9_memory.__all__:
            self.assertTrue(hasattr(l9_memory, name), name)

    def test_has_the_marker_of_typed_packages(self) -> None:
        self.assertTrue((FOLDER / "py.typed").exists())

    def test_annotates_every_function(self) -> None:
        faults = []
        for path in sorted(FOLDER.glob("*.py")):
            for node in ast.walk(ast.parse(path.read_text("utf-8"))):
                if not isinstance(node, ast.FunctionDef):
                    continue
                arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
                untyped = [one.arg for one in arguments if one.annotation is None and one.arg not in ("self", "cls")]
                if untyped or node.returns is None:
                    faults.append(f"{path.name}: {node.name} {untyped}")
        self.assertEqual(faults, [])

    def test_has_annotations_that_can_be_evaluated_and_documents_its_methods(self) -> None:
        methods = [
            method
            for name, method in inspect.getmembers(l9_memory.L9Memory, callable)
            if not name.startswith("_") or name in ("__init__", "__enter__", "__exit__")
        ]
        self.assertGreater(len(methods), 12)
        for method in methods:
            self.assertIn("return", get_type_hints(method), method)
            if not method.__name__.startswith("_"):
                self.assertTrue(inspect.getdoc(method), method)

    def test_compiles(self) -> None:
        self.assertTrue(compileall.compile_dir(str(FOLDER), quiet=1, force=True))

    def test_imports_the_standard_library_only(self) -> None:
        imported = set()
        for path in FOLDER.glob("*.py"):
            for node in ast.walk(ast.parse(path.read_text("utf-8"))):
                if isinstance(node, ast.Import):
                    imported |= {one.name.split(".")[0] for one in node.names}
                elif isinstance(node, ast.ImportFrom) and node.level == 0:
                    imported.add((node.module or "").split(".")[0])
        self.assertEqual(imported - sys.stdlib_module_names, set())


if __name__ == "__main__":
    unittest.main()
