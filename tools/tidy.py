#!/usr/bin/env python3
"""Checks project rules that no compiler checks. Prints file:line: what; exits 1 if there is any.

A rule is a function named check_*: it takes the tree, a Source by path, and yields (path, line, message). Those
about text are here, those about objects in tidy_objects.py.
`--self-test`, which every run begins with, feeds each rule a small tree that it must accept and changes of
that tree that it must report (VIOLATIONS), so that no rule can rot silently. A rule without one fails it.
"""

import pathlib
import posixpath
import re
import subprocess
import sys

import tidy_objects
import tidy_prose
from tidy_objects import REGISTRY, policies
from tidy_source import Source

ROOT = pathlib.Path(__file__).resolve().parent.parent
FILE_LINES_MAX = 600
READ = (".h", ".cc", ".md", ".case", ".ts", ".yaml", "CMakeLists.txt", tidy_objects.OFFENDERS, tidy_prose.NUMBERS)

# What no line of C++ may match, why, and a line that does.
BANS = [
    (r"\b(TODO|FIXME|XXX|HACK)\b", "unfinished work belongs in an issue", "// TODO: all of it"),
    (r"\bstd::(rand|random_device|mt19937)|\bsrand\(", "use base/rng.h", "std::mt19937 rng;"),
    (r"\bsleep_for|\busleep\(|\bsleep\(", "no sleeping", "sleep(1);"),
    (r"^\s*throw\b", "return an Error (base/result.h)", "  throw 1;"),
    (r"/home/|/root/", "a path of somebody's machine", 'open("/home/ann/trace.csv");'),
    (r"DISABLED_|EXPECT_TRUE\(true\)", "a test that cannot fail", "TEST(A, DISABLED_B) {}"),
    (r"\busing namespace\b", "name what you use", "using namespace std;"),
    (r"\branges::(stable_partition|partition|unique|remove|remove_if|find_end|subrange)\b",
     "Clang 14 cannot compile it: take the algorithm of std", "std::ranges::unique(a);"),
]
# Words with a plainer term, which is named behind them, and where they must not stand.
WORDS = [
    (r"\b[Ww]hoever\b|[Nn]obody|[Ss]omebody|[Ee]verybody", "jobs, users or nodes", "Nobody waits."),
    (r"[Dd]ead[- _]?[Tt]ime\b", "overhead", "Dead time is charged."),
    (r"\b[Mm]ended\b|_mended\b", "repaired", "A mended row."),
]
WORDED = ("fairlead/", "docs/", "data/experiments/", "web/src/", "README.md")
HISTORY = "docs/decisions/"
CLOCK = re.compile(r"\b(system_clock|steady_clock|high_resolution_clock|gettimeofday|std::time\()")
# A path of the project in a comment, except NAME.cc, which is a placeholder, and what is quoted.
NAMED_FILE = re.compile(r"""(?<![\w.>$/*-])(?:[\w.-]+/)*(?!\.*[A-Z]+\.)\w[\w.-]*\.(?:h|cc|py|sh|mjs|ts|md)\b""")


def check_length(tree):
    for path, source in tree.items():
        if source.is_cpp and len(source.lines) > FILE_LINES_MAX:
            yield path, FILE_LINES_MAX, f"longer than {FILE_LINES_MAX} lines: {len(source.lines)}"


def check_bans(tree):
    for path, source in tree.items():
        for number, line in enumerate(source.lines if source.is_cpp else [], 1):
            for pattern, why, _ in BANS:
                # What goes wrong in a call from Python is an exception there.
                is_pythons = path.startswith("python/") and "throw" in pattern
                if re.search(pattern, line) and not is_pythons:
                    yield path, number, f"{why}: {line.strip()}"


def check_words(tree):
    """One plain term for one thing, in code and text; decisions stay as they were written."""
    for path, source in tree.items():
        if not path.startswith(WORDED) or path.startswith(HISTORY):
            continue
        for number, line in enumerate(source.lines, 1):
            for pattern, term, _ in WORDS:
                if re.search(pattern, line):
                    yield path, number, f"say {term}: {line.strip()}"


def check_clock(tree):
    """Wall time is for the command line's run.json and progress, and for benchmarks."""
    for path, source in tree.items():
        if not source.is_cpp or not source.module or source.module == "cli":
            continue
        for number, line in enumerate(source.lines, 1):
            if CLOCK.search(line):
                yield path, number, f"no wall clock below cli: {line.strip()}"


def check_header(tree):
    for path, source in tree.items():
        if not path.endswith(".h"):
            continue
        if not source.text.startswith("//"):
            yield path, 1, "a header begins with a paragraph that says what it is"
        if "#pragma once" not in source.text:
            yield path, 1, "#pragma once is missing"


def check_title(tree):
    for path, source in tree.items():
        if not path.endswith(".md"):
            continue
        in_code, titles = False, 0
        for line in source.lines:
            in_code ^= line.startswith("```")
            titles += not in_code and line.startswith("# ")
        if titles != 1:
            yield path, 1, f"a document has one title, not {titles}"


LINK = re.compile(r"\]\(([^)\s]+)\)")


def anchors(source):
    """The names of its headings, as GitHub and mkdocs.yml make them."""
    found, in_code = set(), False
    for line in source.lines:
        in_code ^= line.startswith("```")
        if in_code or not re.match(r"#+ ", line):
            continue
        text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", line.lstrip("#").strip())
        name = re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")
        number, first = 0, name
        while name in found:
            number += 1
            name = f"{first}-{number}"
        found.add(name)
    return found


def check_links(tree):
    """Relative links of documents lead to files, folders and headings that are there."""
    folders = {str(folder) for path in tree for folder in pathlib.PurePosixPath(path).parents}
    for path, source in tree.items():
        in_code = False
        for number, line in enumerate(source.lines if path.endswith(".md") else [], 1):
            in_code ^= line.startswith("```")
            for link in [] if in_code else LINK.findall(re.sub(r"`[^`]*`", "", line)):
                target, _, anchor = link.partition("#")
                if re.match(r"\w+:", target):
                    continue
                there = posixpath.normpath(posixpath.join(posixpath.dirname(path), target)) if target else path
                if there not in tree and there not in folders:
                    yield path, number, f"leads nowhere: {link}"
                elif anchor and there in tree and anchor not in anchors(tree[there]):
                    yield path, number, f"no such heading: {link}"


TYPE = re.compile(r"(?:template <.*> )?(?:class|struct|union|enum|enum class) (\w+)(?: final)?(?: : [^;]*)? \{")


def check_types_named_once(tree):
    """Two types of one name are one type to the linker, which takes the functions of either for both."""
    seen = {}
    for path, source in sorted(tree.items()):
        spaces = []
        for number, line in enumerate(source.lines if source.is_cpp else [], 1):
            if opened := re.match(r"namespace(?: ([\w:]+))? \{", line):
                spaces.append(opened[1])
            elif line.startswith("}  // namespace") and spaces:
                spaces.pop()
            elif (named := TYPE.match(line)) and None not in spaces:
                first, at = seen.setdefault((*spaces, named[1]), (path, number))
                if first != path:
                    yield path, number, f"{named[1]} is a type of {first}:{at} as well"


def check_listed_in_cmake(tree):
    """Every source file is built, or it is dead: the CMakeLists.txt of a folder above names it."""
    for path in tree:
        if not path.endswith(".cc"):
            continue
        for folder in pathlib.PurePosixPath(path).parents:
            lists = tree.get(str(folder / "CMakeLists.txt"))
            name = re.escape(str(pathlib.PurePosixPath(path).relative_to(folder)))
            if lists and re.search(rf"(?<![\w/]){name}(?!\w)", lists.text):
                break
        else:
            yield path, 1, "not listed in any CMakeLists.txt"


def check_comments_name_files(tree):
    """Reports comments that name a file that is not there.

    A path begins at the root, fairlead/, or the folder of the file or its module; its end will do if no other file,
    or none of the same module, ends like that. Quoted names are examples.
    """
    named = {}
    for path in tree:
        named.setdefault(path.rpartition("/")[2], []).append(path)
    for path, source in tree.items():
        module = "/".join(path.split("/")[:2])
        for line, text in source.comments:
            for name in NAMED_FILE.findall(re.sub(r'"[^"]*"', "", text)):
                ends = [other for other in named.get(name.rpartition("/")[2], []) if f"/{other}".endswith(f"/{name}")]
                begins = [posixpath.normpath(posixpath.join(folder, name))
                          for folder in ("", "fairlead", posixpath.dirname(path), module)]
                if len(ends) != 1 and not any(one in tree for one in begins) and not any(
                        one.startswith(f"{module}/") for one in ends):
                    yield path, line, f"{'several files are called' if ends else 'no such file:'} {name}"


def check_policies_documented(tree):
    """Every policy of the registry has a page and a golden case."""
    cases = "\n".join(source.text for path, source in tree.items() if path.endswith(".case"))
    registered = policies(tree)
    if not registered:
        yield REGISTRY, 1, "no policy (&kName) is found here: repair this rule"
    for entry, (name, path) in registered.items():
        if name is None:
            yield REGISTRY, 1, f"the name of {entry} is not found: repair this rule"
            continue
        if f"docs/policies/{name}.md" not in tree:
            yield path, 1, f"docs/policies/{name}.md is missing"
        if not re.search(rf"^policy\s+{name}(:|\s|$)", cases, re.M):
            yield path, 1, f"no case of tests/golden runs {name}"


# What every rule accepts.
CLEAN = tidy_objects.CLEAN | {
    "CMakeLists.txt": "add_executable(a bench/b.cc)\n",
    "bench/b.cc": "auto t = std::chrono::steady_clock::now();\n",
    "fairlead/base/CMakeLists.txt": "fl_module(base SOURCES a.cc part/b.cc)\n",
    "fairlead/base/a.h": "// A thing.\n#pragma once\n",
    "fairlead/base/a.cc": '#include "a.h"\n',
    "fairlead/base/part/b.cc": "int b;\n",
    "fairlead/cli/CMakeLists.txt": "fl_module(cli SOURCES run.cc)\n",
    "fairlead/cli/run.cc": "auto t = std::chrono::steady_clock::now();\n",
    "fairlead/policy/CMakeLists.txt": "fl_module(policy SOURCES simple/las.cc)\n",
    "fairlead/policy/policies.h": "// All of them.\n#pragma once\nconstexpr std::array kPolicies = {&kLas};\n",
    "fairlead/policy/simple/las.cc": 'const PolicyEntry kLas = {\n    .name = "las",\n};\n',
    "docs/decisions/0001-rows.md": "# Mended rows\n",
    "docs/policies/las.md": "# las\n```\n# not a title\n```\n[las](../policies/las.md#las), [rows](../decisions/0001-rows.md), `[a](b)`\n",
    "tests/golden/las.case": "# What it shows.\npolicy   las:placement=yarn\n",
}

# A rule, a change of CLEAN that it must report (a text of None removes the file), and what it says.
VIOLATIONS = [
    (check_length, {"fairlead/base/a.cc": "\n" * (FILE_LINES_MAX + 1)}, "fairlead/base/a.cc:600: longer than"),
    *[(check_bans, {"fairlead/base/a.cc": f"int a;\n{line}\n"}, f"fairlead/base/a.cc:2: {why}: {line.strip()}")
      for _, why, line in BANS],
    *[(check_words, {path: f"# a\n{line}\n"}, f"{path}:2: say {term}: {line}")
      for _, term, line in WORDS for path in ("docs/a.md", "web/src/a.ts", "data/experiments/a.yaml")],
    (check_words, {"fairlead/base/a.cc": "int b;\nint dead_time;\n"}, "fairlead/base/a.cc:2: say overhead"),
    (check_clock, {"fairlead/base/a.cc": CLEAN["fairlead/cli/run.cc"]}, "fairlead/base/a.cc:1: no wall clock"),
    (check_header, {"fairlead/base/a.h": "#pragma once\n"}, "fairlead/base/a.h:1: a header begins"),
    (check_header, {"fairlead/base/a.h": "// A thing.\n"}, "fairlead/base/a.h:1: #pragma once is missing"),
    (check_title, {"docs/a.md": "# One\n# Two\n"}, "docs/a.md:1: a document has one title, not 2"),
    (check_title, {"docs/a.md": "```\n# not one\n```\n"}, "docs/a.md:1: a document has one title, not 0"),
    (check_links, {"docs/a.md": "# A\n[b](b.md)\n"}, "docs/a.md:2: leads nowhere: b.md"),
    (check_links, {"docs/a.md": "# A\n[las](policies/las.md#las-1)\n"}, "docs/a.md:2: no such heading: policies/las.md#las-1"),
    (check_links, {"docs/a.md": "# A `b`\n[A](#a-b), [A](#ab)\n"}, "docs/a.md:2: no such heading: #ab"),
    (check_listed_in_cmake, {"fairlead/base/c.cc": ""}, "fairlead/base/c.cc:1: not listed"),
    (check_listed_in_cmake, {"fairlead/base/part/a.cc": ""}, "fairlead/base/part/a.cc:1: not listed"),
    (check_types_named_once,
     {"fairlead/base/a.cc": "namespace fairlead {\nnamespace {\nstruct C {\n}  // namespace\nstruct B {\n",
      "fairlead/base/part/b.cc": "namespace fairlead {\nstruct C {\nclass B final : public A {\n"},
     "fairlead/base/part/b.cc:3: B is a type of fairlead/base/a.cc:5 as well"),
    (check_comments_name_files, {"fairlead/base/a.cc": "// b.cc, cli/run.cc, \"a.py\", NAME.h.\n// As part/c.cc.\n"},
     "fairlead/base/a.cc:2: no such file: part/c.cc"),
    (check_comments_name_files, {"web/src/a.ts": "const a = 1; // fairlead/b.h\n"},
     "web/src/a.ts:1: no such file: fairlead/b.h"),
    (check_comments_name_files, {"fairlead/base/part/a.cc": "", "fairlead/cli/run.cc": "/* a.cc\n */"},
     "fairlead/cli/run.cc:1: several files are called a.cc"),
    (check_policies_documented, {"docs/policies/las.md": None},
     "fairlead/policy/simple/las.cc:1: docs/policies/las.md is missing"),
    (check_policies_documented, {"tests/golden/las.case": "policy   las-2\n"},
     "fairlead/policy/simple/las.cc:1: no case of tests/golden runs las"),
    (check_policies_documented, {REGISTRY: CLEAN[REGISTRY].replace("&kLas", "&kLas, &kFifo")},
     f"{REGISTRY}:1: the name of kFifo is not found"),
    (check_policies_documented, {REGISTRY: "// None.\n#pragma once\n"}, f"{REGISTRY}:1: no policy"),
    *tidy_objects.VIOLATIONS,
    *tidy_prose.VIOLATIONS,
]


def rules():
    named = vars(tidy_objects) | vars(tidy_prose) | globals()
    return [value for name, value in sorted(named.items()) if name.startswith("check_")]


def reported(rule, tree):
    """Writes what a rule reports of a tree, in the order of lines."""
    return [f"{path}:{line}: {message}" for path, line, message in sorted(rule(tree))]


def read(texts):
    """Makes a tree of texts by path, without those that are None."""
    return {path: Source(path, text) for path, text in texts.items() if text is not None}


def self_test():
    for rule in rules():
        found = reported(rule, read(CLEAN))
        assert not found, f"{rule.__name__} reports a clean tree: {found}"
        assert any(rule is tested for tested, _, _ in VIOLATIONS), f"{rule.__name__} has no violation here"
    for rule, change, expected in VIOLATIONS:
        found = reported(rule, read(CLEAN | change))
        assert len(found) == 1 and found[0].startswith(expected), f"{rule.__name__}: {expected}: {found}"


def read_tree():
    """The texts of files that are tracked, or new and not ignored; of other kinds than READ nothing but the name."""
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, check=True,
                            capture_output=True, text=True).stdout
    return {path: (ROOT / path).read_text() if path.endswith(READ) else "" for path in listed.splitlines()
            if (ROOT / path).is_file()}


def main():
    self_test()
    if sys.argv[1:] == ["--self-test"]:
        return 0
    tree = read(read_tree())
    problems = [problem for rule in rules() for problem in reported(rule, tree)]
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
