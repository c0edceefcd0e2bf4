"""The Python of README.md and of the how-to guide, run as it is written, on the gateway that the environment names."""

from __future__ import annotations

import contextlib
import io
import os
import re
import unittest
from pathlib import Path

CLIENT = Path(__file__).resolve().parent.parent
PAGES = [CLIENT / "README.md", CLIENT.parent.parent / "docs" / "how-to" / "use-in-an-application.md"]


@unittest.skipUnless(os.environ.get("L9_URL"), "L9_URL names no gateway")
class Examples(unittest.TestCase):
    def test_run_and_print_what_the_page_says(self) -> None:
        for page in PAGES:
            blocks = re.findall(r"^```python\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?", page.read_text("utf-8"), re.M | re.S)
            self.assertTrue(blocks, page)
            # As in one program: what a block defines, the next ones use.
            names: dict[str, object] = {}
            printed_at_all = 0
            for code, expected in blocks:
                printed = io.StringIO()
                with contextlib.redirect_stdout(printed):
                    exec(compile(code, str(page), "exec"), names)
                if expected:
                    self.assertEqual(printed.getvalue(), expected, page)
                    printed_at_all += 1
            self.assertGreater(printed_at_all, 0, page)


if __name__ == "__main__":
    unittest.main()
