#!/usr/bin/env python3
"""Counts constructions that make prose tiring to read, in comments, documents and texts for users.

CONTRIBUTING.md, section "Plain English", has the rule and its examples. tools/prose.txt has the number of hits of
each file that has any; tidy.py reports a file with more hits, and a number that can be lowered.

    tools/tidy_prose.py             prints the hits per 1,000 words, by kind of text
    tools/tidy_prose.py PATH...     lists the hits of files and folders, as path:line: construction: sentence
    tools/tidy_prose.py --lower     writes the lower numbers into tools/prose.txt
"""

import collections
import pathlib
import re
import subprocess
import sys
from typing import NamedTuple

from tidy_source import Source

ROOT = pathlib.Path(__file__).resolve().parent.parent
NUMBERS = "tools/prose.txt"
FOLDERS = ("fairlead/", "tests/", "fuzz/", "bench/", "examples/", "web/src/", "python/", "docs/", "data/experiments/")
# Release notes are history, and CONTRIBUTING.md quotes what the rule forbids.
LEFT_OUT = ("CHANGELOG.md", "CONTRIBUTING.md")

# The name of a hit, its pattern within one sentence, and a sentence with exactly this hit.
CONSTRUCTIONS = {
    "opens without its subject": (
        r"^(?:Of (?!course)|(?:What|Who|Whom|Whose|Those|Where)\b(?!.*\?$)|That (?:of|which|what|who)\b)",
        "Of each user, the shares."),
    "a clause as a noun": (
        r"(?<!^)(?<=[ ,;:(])(?:what|who|whom|whose) (?:is|are|was|were|has|have|had|it|they|a|an|the|its|their|[a-z]+s)\b"
        r"(?!.*\?$)",
        "The sum of what jobs ask for."),
    "a pronoun as the subject": (
        r"(?<!^)\b(?:that|those) (?:of|that|which|who|what)\b(?! (?:the )?same\b)",
        "The cost is less than that of a move."),
    "as for because": (r", as (?:it|they|that|the|a|an|no|one|only|each|its|their|there)\b", "It waits, as it is late."),
    "is no": (r"\b(?:is|are|was|were) no\b(?! (?:longer|more than|less than))(?<!there is no)(?<!there are no)"
              r"(?<!there was no)(?<!there were no)(?<!There is no)(?<!There are no)", "This is no job."),
    "but for": (r"\b(?:but for|all but)\b", "All users but for one."),
    "objects that speak": (r"\b(?:told|tells?|says?|said|hears?|heard|speaks?|spoken)\b", "The job says so."),
    "is to": (r"\b(?:is|are|was|were) to (?:be|have|go|stop|run|wait|hold|begin|come|rest|leave|start|end)\b",
              "The job is to wait."),
    "words of another age": (r"\b(?:anew|begun|likewise|wish(?:es|ed)?|thereof|therein|whence|thence|hence)\b",
                             "It starts anew."),
}
SENTENCE_END = re.compile(r"(?<=[.;:!?])\s+(?=\S)")


class Text(NamedTuple):
    line: int
    kind: str  # "comment", "document" or "literal"
    text: str


def paragraphs_of_comments(source):
    """Joins the comment lines that follow one another."""
    start, text, last, last_column = 0, [], -1, 0
    for line, comment in source.comments:
        plain = re.sub(r"^\s*(?://+|/\*+|\*+/?|#+)[<!]*\s?", "", comment).rstrip("*/ ")
        column = source.lines[line - 1].find(comment.strip()[:2])
        if line != last + 1 or column != last_column or not plain.strip():
            if text:
                yield Text(start, "comment", " ".join(text))
            start, text = line, []
        text.append(plain.strip())
        last, last_column = line, column
    if text:
        yield Text(start, "comment", " ".join(text))


def paragraphs_of_document(source):
    """Joins the lines of a paragraph, without code, links' targets and the marks of lists and tables."""
    start, text, in_code = 0, [], False
    for number, line in enumerate([*source.lines, ""], 1):
        fence = line.lstrip().startswith("```")
        in_code ^= fence
        begins = re.match(r"\s*(?:[-*+]|\d+\.|#+|\||>)\s*|\s*$", line)
        if (in_code or fence or begins) and text:
            yield Text(start, "document", " ".join(text))
            text = []
        if in_code or fence:
            continue
        plain = re.sub(r"`[^`]*`", "CODE", line[begins.end():] if begins else line)
        plain = re.sub(r"\]\([^)]*\)", "]", plain)
        for cell in plain.split("|") if line.lstrip().startswith("|") else [plain]:
            if cell.strip(" -:"):
                if line.lstrip().startswith("|"):
                    yield Text(number, "document", cell.strip())
                else:
                    start = start if text else number
                    text.append(cell.strip())


def literals(source):
    """Finds the strings that are sentences for users: those of four words or more, outside tests."""
    for line, text in source.literals:
        if not source.is_test and len(re.findall(r"[A-Za-z]{2,}", text)) >= 4:
            yield Text(line, "literal", text)


def texts(source):
    if source.path.endswith(".md"):
        yield from paragraphs_of_document(source)
    else:
        yield from paragraphs_of_comments(source)
        yield from literals(source)


def hits(text):
    """Finds (construction, sentence) in a Text."""
    if text.kind == "comment" and text.text.startswith("of "):  # a field's comment is a noun phrase
        yield "opens without its subject", text.text
    for sentence in SENTENCE_END.split(text.text):
        for name, (pattern, _) in CONSTRUCTIONS.items():
            for _ in re.finditer(pattern, sentence.strip("*_ \"“(")):
                yield name, sentence


def is_read(path):
    return (path.endswith((".h", ".cc", ".ts", ".md"))
            and (path.startswith(FOLDERS) or "/" not in path) and path not in LEFT_OUT)


def count(source):
    return sum(1 for text in texts(source) for _ in hits(text))


def numbers(tree):
    """Reads the number of hits that each file may have: (line, path, number)."""
    lines = tree[NUMBERS].lines if NUMBERS in tree else []
    for line, text in enumerate(lines, 1):
        if text and not text.startswith("#"):
            path, number = text.split()
            yield line, path, int(number)


def check_prose(tree):
    """The hits of a file may only become fewer."""
    allowed = {path: (line, number) for line, path, number in numbers(tree)}
    for path, source in tree.items():
        if not is_read(path):
            continue
        found = [(text.line, name, sentence) for text in texts(source) for name, sentence in hits(text)]
        line, most = allowed.pop(path, (1, 0))
        if len(found) > most:
            for at, name, sentence in found:
                yield path, at, f"plain English (CONTRIBUTING.md), {name}: {sentence}"
        elif len(found) < most:
            yield NUMBERS, line, f"{path} has {len(found)}: run tools/tidy_prose.py --lower"
    for path, (line, _) in allowed.items():
        yield NUMBERS, line, f"no such file: {path}"


VIOLATIONS = [
    *((check_prose, {"docs/a.md": f"# Title\n\n{sentence}\n"},
       f"docs/a.md:3: plain English (CONTRIBUTING.md), {name}") for name, (_, sentence) in CONSTRUCTIONS.items()),
    (check_prose, {"fairlead/base/a.cc": "// The sum of\n// what jobs ask for.\n"}, "fairlead/base/a.cc:1: plain"),
    (check_prose, {"fairlead/base/a.cc": 'const char* kA = "the job said that it ended";\n'},
     "fairlead/base/a.cc:1: plain"),
    (check_prose, {"fairlead/base/a.cc": "int a;  // of the node\n"}, "fairlead/base/a.cc:1: plain"),
    (check_prose, {NUMBERS: "docs/none.md 1\n"}, f"{NUMBERS}:1: no such file: docs/none.md"),
    (check_prose, {NUMBERS: "docs/a.md 2\n", "docs/a.md": "# Title\n\nIt starts anew.\n"}, f"{NUMBERS}:1: docs/a.md has 1"),
]


def read_tree():
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, check=True,
                            capture_output=True, text=True).stdout.splitlines()
    return {path: Source(path, (ROOT / path).read_text()) for path in listed
            if (is_read(path) or path == NUMBERS) and (ROOT / path).is_file()}


def print_index(tree):
    words, found = collections.Counter(), collections.Counter()
    for source in tree.values():
        for text in texts(source) if source.path != NUMBERS else []:
            kind = f"{text.kind}s{' of tests' if source.is_test else ''}"
            words[kind] += len(text.text.split())
            found[kind] += sum(1 for _ in hits(text))
    for kind in sorted(words):
        print(f"plain English: {1000 * found[kind] / words[kind]:.1f} hits per 1,000 words in {kind} "
              f"({found[kind]} in {words[kind]})")


def main():
    tree = read_tree()
    if sys.argv[1:] == ["--lower"]:
        allowed = {path: number for _, path, number in numbers(tree)}
        lines = []
        for path, source in sorted(tree.items()):
            number = min(count(source), allowed.get(path, 0)) if path != NUMBERS else 0
            if number:
                lines.append(f"{path} {number}\n")
        head = "# Hits of tools/tidy_prose.py in each file that has any. A number may only fall.\n"
        (ROOT / NUMBERS).write_text(head + "".join(lines))
    elif sys.argv[1:]:
        for path, source in tree.items():
            if path.startswith(tuple(sys.argv[1:])) and path != NUMBERS:
                for text in texts(source):
                    for name, sentence in hits(text):
                        print(f"{path}:{text.line}: {name}: {sentence}")
    else:
        print_index(tree)
    return 0


if __name__ == "__main__":
    sys.exit(main())
