#!/usr/bin/env python3
"""Tests tools/page.py on a small tree, with a played npm and node."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "tools/page.py"
NODE = 'mkdir -p "$3" && cat src/main.ts src/page.html >"$3/report.html"'


class PageScript(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.root = pathlib.Path(scratch.name)
        for name in ("package-lock.json", "package.json", "tsconfig.json", "tools/build.mjs", "src/main.ts", "src/page.html"):
            self.write(f"web/{name}", f"{name}\n")
        (self.root / "tools").mkdir()
        shutil.copy(SCRIPT, self.root / "tools/page.py")
        self.play("npm", "true")
        self.play("node", NODE)
        self.assertEqual(self.page()[0], 0)

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def play(self, program, line):
        self.write(f"bin/{program}", f"#!/bin/sh\n{line}\n")
        (self.root / "bin" / program).chmod(0o755)

    def page(self, *arguments):
        """Runs the script, and returns its exit status and output."""
        done = subprocess.run([sys.executable, self.root / "tools/page.py", *arguments], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, env={**os.environ, "PATH": f"{self.root}/bin:/usr/bin:/bin"})
        return done.returncode, done.stdout

    def refused(self, why, *arguments):
        status, printed = self.page(*arguments)
        self.assertEqual(status, 1, printed)
        self.assertIn(why, printed)
        self.assertIn("run ./dev page", printed)

    def test_accepts_what_it_built(self):
        self.assertEqual((self.root / "web/built/report.html").read_text(), "src/main.ts\nsrc/page.html\n")
        self.assertEqual(self.page("--hashes"), (0, ""))
        self.assertEqual(self.page("--check"), (0, "page: web/built/report.html is what web/ builds\n"))

    def test_reports_sources_that_changed(self):
        self.write("web/src/main.ts", "edited\n")
        self.refused("changed after it was built", "--hashes")
        self.refused("changed after it was built", "--check")
        self.assertEqual(self.page()[0], 0)
        self.assertEqual(self.page("--check")[0], 0)

    def test_reports_sources_that_came_or_have_another_name(self):
        self.write("web/src/part/new.ts", "")
        self.refused("changed after it was built", "--hashes")
        (self.root / "web/src/part/new.ts").unlink()
        self.assertEqual(self.page("--hashes")[0], 0)
        (self.root / "web/src/main.ts").rename(self.root / "web/src/other.ts")
        self.refused("changed after it was built", "--hashes")

    def test_ignores_files_of_editors(self):
        for name in (".main.ts.swp", "main.ts~", "#main.ts#"):
            self.write(f"web/src/{name}", "")
        self.assertEqual(self.page("--hashes")[0], 0)

    def test_reports_a_page_that_was_edited_or_is_missing(self):
        self.write("web/built/report.html", "edited")
        self.refused("changed by hand", "--hashes")
        (self.root / "web/built/report.html").unlink()
        self.refused("incomplete", "--hashes")

    def test_reports_a_page_that_no_build_gives(self):
        self.play("node", f"{NODE}; echo more >>$3/report.html")
        self.refused("is not what web/ builds", "--check")

    def test_compares_hashes_where_the_registry_does_not_answer(self):
        self.play("npm", "echo 'npm error code ECONNREFUSED'; exit 1")
        status, printed = self.page("--check")
        self.assertEqual(status, 0, printed)
        self.assertIn("compared hashes alone", printed)
        self.assertIn("ECONNREFUSED", printed)
        self.write("web/src/main.ts", "edited\n")
        self.refused("changed after it was built", "--check")
        self.assertEqual(self.page()[0], 1)

    def test_fails_where_npm_or_the_build_does(self):
        self.play("npm", "echo 'npm error code EINTEGRITY'; exit 1")
        self.assertEqual(self.page("--check")[0], 1)
        self.play("npm", "true")
        self.play("node", "echo 'src/main.ts(1,1): error TS1'; exit 2")
        status, printed = self.page("--check")
        self.assertEqual(status, 1)
        self.assertIn("error TS1", printed)


if __name__ == "__main__":
    unittest.main()
