#!/usr/bin/env python3
"""Checks project rules that no compiler checks. Prints file:line: what; exits 1 if there is any.

The rules are the functions named check_*; each takes a file and yields (line, message). `--self-test`
feeds each rule a text that must fail it, so that a rule cannot rot silently.
"""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FILE_LINES_MAX = 600

BANS = [
    (r"\b(TODO|FIXME|XXX|HACK)\b", "unfinished work belongs in an issue"),
    (r"\bstd::(rand|random_device|mt19937)|\bsrand\(", "use base/rng.h"),
    (r"\bsleep_for|\busleep\(|\bsleep\(", "no sleeping"),
    (r"^\s*throw\b", "return an Error (base/result.h)"),
    (r"/home/|/root/", "a path of somebody's machine"),
    (r"DISABLED_|EXPECT_TRUE\(true\)", "a test that cannot fail"),
    (r"\busing namespace\b", "name what you use"),
    (r"\branges::(stable_partition|partition|unique|remove|remove_if|subrange)\b",
     "Clang 14 cannot compile it: take the algorithm of std"),
]
CLOCK = re.compile(r"\b(system_clock|steady_clock|high_resolution_clock|gettimeofday|std::time\()")
INCLUDE = re.compile(r'^#include "([a-z]+)/')


class Source:
    def __init__(self, path, text):
        self.path = path
        self.text = text
        self.lines = text.splitlines()
        self.is_cpp = path.endswith((".h", ".cc"))
        self.module = path.split("/")[1] if path.startswith("src/") else None


def check_length(source):
    if source.is_cpp and len(source.lines) > FILE_LINES_MAX:
        yield FILE_LINES_MAX, f"longer than {FILE_LINES_MAX} lines: {len(source.lines)}"


def check_bans(source):
    if not source.is_cpp:
        return
    for number, line in enumerate(source.lines, 1):
        for pattern, why in BANS:
            if re.search(pattern, line):
                yield number, f"{why}: {line.strip()}"


def check_clock(source):
    """Wall time is for the command line's run.json and progress, and for benchmarks."""
    if not source.is_cpp or not source.module or source.module == "cli":
        return
    for number, line in enumerate(source.lines, 1):
        if CLOCK.search(line):
            yield number, f"no wall clock below cli: {line.strip()}"


def check_header(source):
    if not source.path.endswith(".h"):
        return
    if not source.text.startswith("//"):
        yield 1, "a header begins with a paragraph that says what it is"
    if "#pragma once" not in source.text:
        yield 1, "#pragma once is missing"


def check_title(source):
    if not source.path.endswith(".md"):
        return
    in_code, titles = False, 0
    for line in source.lines:
        in_code ^= line.startswith("```")
        titles += not in_code and line.startswith("# ")
    if titles != 1:
        yield 1, f"a document has one title, not {titles}"


RULES = [check_length, check_bans, check_clock, check_header, check_title]


def tracked_files():
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, check=True,
                            capture_output=True, text=True).stdout
    return [path for path in listed.splitlines()
            if path.endswith((".h", ".cc", ".md")) and (ROOT / path).is_file()]


def check_listed_in_cmake(paths):
    """Every source file is built, or it is dead."""
    for path in paths:
        if not path.endswith(".cc"):
            continue
        folder = ROOT / path
        names = {folder.name}
        while folder != ROOT:
            names.add(str((ROOT / path).relative_to(folder.parent)))
            folder = folder.parent
            lists = folder / "CMakeLists.txt"
            if lists.is_file() and any(re.search(rf"(?<![\w/]){re.escape(name)}", lists.read_text())
                                       for name in names):
                break
        else:
            yield path, 1, "not listed in any CMakeLists.txt"


def check_policies_documented():
    registry = (ROOT / "src/policy/registry.cc").read_text()
    entries = set(re.findall(r"k(\w+)Entry", registry))
    names = {re.sub(r"(?<!^)(?=[A-Z])", "-", entry).lower() for entry in entries}
    cases = "\n".join(path.read_text() for path in (ROOT / "tests/golden").glob("*.case"))
    for name in sorted(names):
        if not (ROOT / f"docs/policies/{name}.md").is_file():
            yield "src/policy/registry.cc", 1, f"docs/policies/{name}.md is missing"
        if not re.search(rf"^policy\s+{name}\b", cases, re.M):
            yield "src/policy/registry.cc", 1, f"no golden case runs {name}"


def self_test():
    bad = {
        check_length: Source("src/base/a.cc", "\n" * (FILE_LINES_MAX + 1)),
        check_bans: Source("src/base/a.cc", "  throw 1;"),
        check_clock: Source("src/sim/a.cc", "auto t = std::chrono::steady_clock::now();"),
        check_header: Source("src/base/a.h", "#pragma once"),
        check_title: Source("docs/a.md", "# One\n# Two\n"),
    }
    good = Source("src/cli/a.h", '// What it is.\n#pragma once\n')
    assert set(bad) == set(RULES)
    for rule, source in bad.items():
        assert list(rule(source)), rule.__name__
        assert not list(rule(good)), rule.__name__


def main():
    self_test()
    if sys.argv[1:] == ["--self-test"]:
        return 0
    paths = tracked_files()
    problems = list(check_listed_in_cmake(paths)) + list(check_policies_documented())
    for path in paths:
        source = Source(path, (ROOT / path).read_text())
        problems += [(path, *problem) for rule in RULES for problem in rule(source)]
    for path, line, message in sorted(problems):
        print(f"{path}:{line}: {message}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
