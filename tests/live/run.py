#!/usr/bin/env python3
"""Real daemons and real jobs under faults. Prints its measurements as a table.

    run.py BUILD [--long] [--seed N] [--kills N] [--json FILE] [NAME...]

BUILD is the folder with fairlead, fairlead-shim, fairlead-trainer and fairlead-copy-trainer. NAMEs are modules here, or
module.Class.test. The short form takes a minute or two; tests that need root, or a program that does not
exist, are skipped with the reason."""

import argparse
import json
import pathlib
import sys
import unittest

from harness import HERE, Figures, Settings

MODULES = ("kills", "copies", "stubborn", "disk", "load", "users", "shares", "moves", "trading", "quota", "growth", "sessions", "page", "gpus",
           "calendar_steps", "measuring", "limits", "reserving", "containers", "real_gpu")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("names", nargs="*", default=MODULES)
    parser.add_argument("--long", action="store_true", help="1,000 kills, 60 quanta, 10,000 jobs that wait")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kills", type=int, help="how often the daemon is killed")
    parser.add_argument("--json", type=pathlib.Path, help="the figures, as JSON")
    given = parser.parse_args()
    Settings.programs, Settings.is_long = given.build.resolve(), given.long
    Settings.seed, Settings.kills = given.seed, given.kills
    sys.path.insert(0, str(HERE))
    suite = unittest.defaultTestLoader.loadTestsFromNames(given.names)
    result = unittest.TextTestRunner(verbosity=2).run(suite)
    print(f"\n{Figures.text()}\n")
    if given.json:
        given.json.write_text(json.dumps(Figures.rows, indent=1) + "\n")
    return 0 if result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
