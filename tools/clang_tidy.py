#!/usr/bin/env python3
"""Runs clang-tidy on the library's sources that changed since they were last found clean.

    tools/clang_tidy.py PROGRAM BUILD [--all]

PROGRAM is a clang-tidy. BUILD has a compile_commands.json without precompiled headers.

Sources of a module are analysed in batches (tools/batches.py): eight of pods/ take 17 s alone and 4 s together. If a
batch is not clean, its halves are tried, down to single sources.

A clean batch leaves a stamp, an empty file in FAIRLEAD_TIDY_CACHE (default ~/.cache/fairlead/clang-tidy). Its name is
a hash of the sources, of the same after the preprocessor, of .clang-tidy and of the version of clang-tidy. --all
analyses each batch again. Prints the findings and exits with 1 if there are any.
"""

import argparse
import concurrent.futures
import hashlib
import itertools
import json
import os
import pathlib
import shlex
import subprocess
import sys

from batches import batches as group, text_of

ROOT = pathlib.Path(__file__).resolve().parent.parent
CACHE = pathlib.Path(os.environ.get("FAIRLEAD_TIDY_CACHE", pathlib.Path.home() / ".cache/fairlead/clang-tidy"))


def run(command, **options):
    return subprocess.run(command, capture_output=True, check=True, **options).stdout


def compiler_of(entry):
    """Returns the compiler and its flags: a compile command without a launcher, the source and the output."""
    words = shlex.split(entry["command"])
    first = next(i for i, word in enumerate(words) if "clang" in pathlib.Path(word).name)
    return tuple(words[first:words.index("-o")])


def batches(build):
    """Returns pairs of a compiler with its flags and sources, tests excepted. The sources of a pair are of one module."""
    found = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        path = pathlib.Path(entry["file"])
        if path.is_relative_to(ROOT / "fairlead") and not path.stem.endswith("_test"):
            module = path.relative_to(ROOT / "fairlead").parts[0]
            found.setdefault((module, compiler_of(entry)), []).append(path)
    result = []
    for (_, compiler), sources in sorted(found.items()):
        result += [(compiler, batch) for batch in group(sources)]
    return result


def switched_off():
    """Returns the lines of headers that switch a check off, because they are comments."""
    return subprocess.run(["git", "grep", "-h", "NOLINT", "--", "fairlead/*.h"], cwd=ROOT, capture_output=True).stdout


class Analysis:
    def __init__(self, program, build, every):
        self.program = program
        self.folder = build / "tidy"
        self.folder.mkdir(exist_ok=True)
        self.every = every
        self.common = run([program, "--version"]) + (ROOT / ".clang-tidy").read_bytes() + switched_off()
        self.numbers = itertools.count()
        self.analysed = 0

    def findings(self, compiler, sources):
        """Returns the findings of sources that are compiled in the same way; none if they are clean."""
        text = text_of(sources, ROOT)
        unit = sources[0]
        if len(sources) > 1:
            unit = self.folder / f"batch_{next(self.numbers)}.cc"
            unit.write_bytes(text)
        try:
            stamp = CACHE / hashlib.sha256(self.common + text + self.preprocessed(compiler, unit)).hexdigest()
        except subprocess.CalledProcessError as failure:
            return failure.stderr.decode()
        if stamp.exists() and not self.every:
            stamp.touch()  # the oldest stamps may be deleted
            return ""
        result = subprocess.run([self.program, "--quiet", f"--config-file={ROOT}/.clang-tidy", unit, "--", *compiler[1:]],
                                capture_output=True, text=True, cwd=ROOT)
        found = ""
        if result.returncode == 0:
            self.analysed += len(sources)
        elif len(sources) == 1:
            found = result.stdout + result.stderr
        else:
            half = len(sources) // 2
            found = self.findings(compiler, sources[:half]) + self.findings(compiler, sources[half:])
        if not found:
            stamp.touch()
        return found

    def preprocessed(self, compiler, unit):
        """Returns what the compiler reads, without comments, blank lines and the name of the project's folder."""
        return run([*compiler, "-E", "-P", unit]).replace(os.fsencode(ROOT), b"")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("program")
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--all", action="store_true", help="analyse each batch again")
    arguments = parser.parse_args()
    CACHE.mkdir(parents=True, exist_ok=True)
    analysis = Analysis(arguments.program, arguments.build.resolve(), arguments.all)
    work = batches(arguments.build)
    failed = False
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        tasks = [pool.submit(analysis.findings, compiler, sources) for compiler, sources in work]
        for task in concurrent.futures.as_completed(tasks):
            if findings := task.result():
                failed = True
                print(findings, flush=True)
    print(f"clang-tidy: {sum(len(sources) for _, sources in work)} sources, {analysis.analysed} analysed and found clean",
          file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
