#!/usr/bin/env python3
"""Runs clang-tidy on the library's sources that changed since they were last found clean.

    tools/clang_tidy.py PROGRAM BUILD [--all]

PROGRAM is a clang-tidy. BUILD has a compile_commands.json without precompiled headers. A clean source leaves a stamp, an empty file in
FAIRLEAD_TIDY_CACHE (default ~/.cache/fairlead/clang-tidy). Its name is a hash of the source, of the same after the
preprocessor, of .clang-tidy and of the version of clang-tidy. --all analyses each source again.
Prints the findings and exits with 1 if there are any.
"""

import argparse
import concurrent.futures
import hashlib
import json
import os
import pathlib
import shlex
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
CACHE = pathlib.Path(os.environ.get("FAIRLEAD_TIDY_CACHE", pathlib.Path.home() / ".cache/fairlead/clang-tidy"))


def run(command, **options):
    return subprocess.run(command, capture_output=True, check=True, **options).stdout


def commands(build):
    """The compile command of each source of the library, tests excepted, by its path from the root."""
    found = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        path = pathlib.Path(entry["file"])
        if path.is_relative_to(ROOT / "fairlead") and not path.stem.endswith("_test"):
            found[str(path.relative_to(ROOT))] = (shlex.split(entry["command"]), entry["directory"])
    return found


def preprocessed(command, folder):
    """Returns what the compiler reads, without comments, blank lines and the name of the project's folder."""
    compiler = next(i for i, word in enumerate(command) if "clang" in pathlib.Path(word).name)
    words = command[compiler:]
    for flag, arguments in (("-o", 1), ("-MF", 1), ("-MT", 1), ("-MD", 0), ("-c", 0)):
        if flag in words:
            at = words.index(flag)
            del words[at:at + 1 + arguments]
    return run([*words, "-E", "-P"], cwd=folder).replace(os.fsencode(ROOT), b"")


def switched_off():
    """Returns the lines of headers that switch a check off, because they are comments."""
    return subprocess.run(["git", "grep", "-h", "NOLINT", "--", "fairlead/*.h"], cwd=ROOT, capture_output=True).stdout


def analyse(program, source, command, folder, build, common, every):
    """Returns the findings; none if the source is clean."""
    try:
        text = preprocessed(command, folder)
    except subprocess.CalledProcessError as failure:
        return failure.stderr.decode()
    stamp = CACHE / hashlib.sha256(common + (ROOT / source).read_bytes() + text).hexdigest()
    if stamp.exists() and not every:
        stamp.touch()  # the oldest stamps may be deleted
        return ""
    result = subprocess.run([program, "--quiet", "-p", build, ROOT / source], capture_output=True, text=True)
    if result.returncode == 0:
        stamp.touch()
        return ""
    return result.stdout + result.stderr


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("program")
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--all", action="store_true", help="analyse each source again")
    arguments = parser.parse_args()
    CACHE.mkdir(parents=True, exist_ok=True)
    build = arguments.build.resolve()
    common = run([arguments.program, "--version"]) + (ROOT / ".clang-tidy").read_bytes() + switched_off()
    stamps = len(list(CACHE.iterdir()))
    failed = False
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        tasks = [pool.submit(analyse, arguments.program, source, *command, build, common, arguments.all)
                 for source, command in sorted(commands(build).items())]
        for task in concurrent.futures.as_completed(tasks):
            if findings := task.result():
                failed = True
                print(findings, flush=True)
    print(f"clang-tidy: {len(tasks)} sources, {len(list(CACHE.iterdir())) - stamps} analysed and found clean",
          file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
