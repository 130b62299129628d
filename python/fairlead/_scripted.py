"""`fairlead simulate` and `compare` with policies that are written in Python: FILE.py:CLASS."""

from __future__ import annotations

import argparse
import importlib.util
import pathlib
import re
import sys
from typing import Any

_SCRIPT = re.compile(r"^(?P<file>.+\.py):(?P<name>\w+)$")


def is_asked(words: list[str]) -> bool:
    return bool(words) and words[0] in ("simulate", "compare") and any(
        _SCRIPT.match(part) for word in words[1:] for part in word.split("=", 1)[-1].split(";"))


def policy_of(text: str) -> Any:
    """Returns the name of a built-in policy, or an object of the named class."""
    from fairlead import InputError

    match = _SCRIPT.match(text)
    if match is None:
        return text
    path = pathlib.Path(match["file"])
    if not path.is_file():
        raise InputError(f"no such file: {path}")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    if not hasattr(module, match["name"]):
        raise InputError(f"{path} has no class {match['name']}")
    return getattr(module, match["name"])()


def main(words: list[str]) -> int:
    import fairlead

    parser = argparse.ArgumentParser(prog=f"fairlead {words[0]}", description="With policies in Python (FILE.py:CLASS).")
    parser.add_argument("--cluster", required=True)
    parser.add_argument("--trace", required=True)
    parser.add_argument("--policy", "--policies", required=True, metavar="NAME;FILE.py:CLASS")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--until", type=float, metavar="SECONDS")
    parser.add_argument("--out", type=pathlib.Path, help="folder for the result files, with one folder in it for each policy")
    given = parser.parse_args(words[1:])
    settings = dict(text.split("=", 1) for text in given.set)
    try:
        chosen = [policy_of(text) for text in given.policy.split(";")]
        runs = fairlead.compare(given.cluster, given.trace, chosen, seed=given.seed, until_s=given.until, **settings)
        if given.out is not None:
            for label, run in runs.items():
                run.save(given.out / re.sub(r"\W+", "-", label) if len(runs) > 1 else given.out)
    except fairlead.Error as error:
        print(f"fairlead: {error}", file=sys.stderr)
        return 2 if isinstance(error, fairlead.InputError) else 1
    print(runs)
    return 0
