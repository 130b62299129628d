"""`fairlead`, the command line of the wheel. In `--policies` and `--policy` of simulate and compare, FILE.py:CLASS names a
policy in Python."""

from __future__ import annotations

import os
import pathlib
import sys

from fairlead import _scripted


def program() -> str:
    return str(pathlib.Path(__file__).with_name("bin") / "fairlead")


def main() -> int:
    if _scripted.is_asked(sys.argv[1:]):
        return _scripted.main(sys.argv[1:])
    os.execv(program(), ["fairlead", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
