#!/usr/bin/env python3
"""Groups the sources of a library into batches that compile as one, because most of their time goes to shared headers.

    tools/batches.py SOURCE...

Prints a line per batch: its sources, with semicolons between them. Two sources that give things of their own the same
name are kept apart. cmake/Batches.cmake and tools/clang_tidy.py use it.
"""

import pathlib
import re
import sys

SIZE = 8


def own_names(source):
    """Returns what a source declares in its unnamed namespaces, as far as the start of a line shows it."""
    names = set()
    for block in re.findall(r"^namespace \{\n(.*?)^\}  // namespace$", source.read_text(), re.DOTALL | re.MULTILINE):
        names.update(re.findall(r"^(?:struct|class|enum class|namespace) (\w+)", block, re.MULTILINE))
        names.update(re.findall(r"^using (\w+) =", block, re.MULTILINE))
        names.update(re.findall(r"^(?!struct|class|enum|using|namespace|template)\w[^;({=]*?(\w+)(?:\(|\{| = |\[|;)", block, re.MULTILINE))
    return names


def batches(sources):
    """Returns lists of at most SIZE sources."""
    found = []  # pairs of sources and their own names
    for source in sorted(sources):
        own = own_names(source)
        batch = next((batch for batch in found if len(batch[0]) < SIZE and not batch[1] & own), None)
        if batch is None:
            batch = ([], set())
            found.append(batch)
        batch[0].append(source)
        batch[1].update(own)
    return [batch for batch, _ in found]


def text_of(sources, root):
    """Returns the text of a batch. Messages of the compiler name the files and lines of the sources."""
    return b"".join(b'#line 1 "%s"\n' % str(path.relative_to(root)).encode() + path.read_bytes() for path in sources)


if __name__ == "__main__":
    for batch in batches([pathlib.Path(argument) for argument in sys.argv[1:]]):
        print(";".join(str(source) for source in batch))
