"""`./dev kube --help` answers at once: it installs, configures and compiles nothing."""

import os
import pathlib
import subprocess
import tempfile
import unittest

PROJECT = pathlib.Path(__file__).resolve().parents[3]


class HelpTest(unittest.TestCase):
    def test_help_needs_no_build(self):
        with tempfile.TemporaryDirectory() as folder:
            for name in ("cmake", "apt-get", "sudo"):
                stub = pathlib.Path(folder, name)
                stub.write_text("#!/bin/sh\necho called: $0 >&2\nexit 1\n")
                stub.chmod(0o755)
            for words in (["--help"], ["-h"], ["own-suspension", "--help"]):
                answer = subprocess.run([PROJECT / "dev", "kube", *words], capture_output=True, text=True,
                                        env={**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"})
                self.assertEqual((answer.returncode, answer.stderr), (0, ""))
                self.assertIn("usage: ./dev kube", answer.stdout)
                self.assertIn("own-suspension", answer.stdout)


if __name__ == "__main__":
    unittest.main()
