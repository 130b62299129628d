#!/usr/bin/env python3
"""Commands of the docs with their output: commands_test.py PROGRAM REPOSITORY.

Each block ```console of a page is run in a folder of the page, command by command, and its output is compared. A file that
`cat` shows before it exists is written. "..." as the last line stands for the rest of an output. A command without output
in the page must succeed. UPDATE_GOLDEN=1 rewrites the outputs. Blocks of a server that runs (`sudo`) and `./dev` are left out.
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

PROGRAM = pathlib.Path()
REPOSITORY = pathlib.Path()
BLOCK = re.compile(r"^```console\n(.*?)^```$", re.DOTALL | re.MULTILINE)
WALL_TIME = re.compile(r", \d+\.\d\d s$", re.MULTILINE)
TIMEOUT_S = 300


class Step:
    """A command with the output that the page shows."""

    def __init__(self, command: str) -> None:
        self.command = command
        self.shown: list[str] = []

    def expected(self) -> str:
        return "\n".join(self.shown).strip("\n")


def steps_of(block: str) -> list[Step]:
    steps: list[Step] = []
    for line in block.splitlines():
        if line.startswith("$ "):
            steps.append(Step(line[2:]))
        elif steps and not steps[-1].shown and steps[-1].command.endswith("\\"):
            steps[-1].command += "\n" + line
        elif steps:
            steps[-1].shown.append(line)
    return steps


def is_left_out(step: Step) -> bool:
    return step.command.startswith("./dev")


def as_shown(output: str, shown: str) -> str:
    """The output in the form of the page: its measured seconds, and no more than it shows before "..."."""
    times = WALL_TIME.findall(shown)
    if times:
        output = WALL_TIME.sub(times[-1], output)
    lines = output.strip("\n").splitlines()
    wanted = shown.splitlines()
    if wanted and wanted[-1] == "...":
        lines = lines[: len(wanted) - 1] + ["..."]
    return "\n".join(lines)


class Commands(unittest.TestCase):
    maxDiff = None

    def run_page(self, page: str, inputs: str = "") -> None:
        text = (REPOSITORY / page).read_text()
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            if inputs:
                for file in (REPOSITORY / inputs).iterdir():
                    (folder / file.name).symlink_to(file)
            update = bool(os.environ.get("UPDATE_GOLDEN"))
            blocks = [match[1] for match in BLOCK.finditer(text)]
            self.assertTrue(blocks, page)
            for block in blocks:
                if "$ sudo " in block:
                    continue
                for step in steps_of(block):
                    text = self.run_step(step, folder, text, update)
        if update:
            (REPOSITORY / page).write_text(text)

    def run_step(self, step: Step, folder: pathlib.Path, text: str, update: bool) -> str:
        """Returns the page with the new output."""
        if is_left_out(step):
            return text
        shown = step.expected()
        words = step.command.split()
        if words[0] == "cat" and not (folder / words[1]).exists():
            (folder / words[1]).write_text(shown + "\n")
            return text
        environment = dict(os.environ, PATH=f"{PROGRAM.parent}:{os.environ['PATH']}")
        ended = subprocess.run(["bash", "-c", step.command], cwd=folder, env=environment, capture_output=True, text=True,
                               timeout=TIMEOUT_S, check=False)
        self.assertEqual(ended.returncode, 0, f"{step.command}\n{ended.stderr}")
        if not shown:
            return text
        output = as_shown(ended.stdout, shown)
        if update:
            return text.replace(f"$ {step.command}\n{shown}\n", f"$ {step.command}\n{output}\n")
        self.assertEqual(output, shown, f"$ {step.command}")
        return text

    def test_operator(self) -> None:
        self.run_page("docs/operator.md", "tests/data/slurm")

    def test_capacity(self) -> None:
        self.run_page("docs/capacity.md", "tests/data/slurm")

    def test_tour(self) -> None:
        self.run_page("docs/tour.md")

    def test_readme_repeats_rows_of_the_tour(self) -> None:
        rows = re.compile(r"^(?:fifo|gavel|hadar|fairlead) .*$", re.MULTILINE)
        readme = rows.findall((REPOSITORY / "README.md").read_text())
        self.assertEqual(len(readme), 4)
        tour = rows.findall((REPOSITORY / "docs/tour.md").read_text())
        for row in readme:
            self.assertIn(row, tour)


if __name__ == "__main__":
    REPOSITORY = pathlib.Path(sys.argv.pop(2)).resolve()
    PROGRAM = pathlib.Path(sys.argv.pop(1)).resolve()
    unittest.main()
