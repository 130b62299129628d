#!/usr/bin/env python3
"""Counts the instructions of fixed runs, and fails if one takes 3 % more than bench/instructions.txt allows.

    bench/gate.py PROGRAM [--update]

Callgrind counts the same for the same program and input, however busy the machine is. Each line of
instructions.txt is a count in millions and the run: arguments of the program, with {trace} for a generated trace, and
{queue} for one with a long queue. The policies decide more often and on more jobs there.
--update writes today's counts; the commit gives the reason. A run that takes 3 % less fails as well, so that the
file stays true.
"""

import pathlib
import re
import subprocess
import sys
import tempfile

COUNTS = pathlib.Path(__file__).resolve().parent / "instructions.txt"
TOLERANCE = 0.03
TRACES = {"trace": "0.9", "queue": "3"}  # by name: the load
GENERATE = ["trace", "generate", "--jobs", "300", "--cluster", "8xV100:8", "--seed", "1"]


def count(program, words):
    """Returns the instructions of one run, with all its processes, in millions."""
    ran = subprocess.run(["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", program, *words],
                         capture_output=True, text=True)
    found = re.findall(r"Collected : (\d+)", ran.stderr)
    if ran.returncode != 0 or not found:
        sys.exit(f"gate: {' '.join(map(str, words))}: {ran.stderr}")
    return sum(map(int, found)) / 1e6


def main():
    program, update = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2:] == ["--update"]
    lines, failed = [], False
    with tempfile.TemporaryDirectory() as folder:
        traces = {name: pathlib.Path(folder, f"{name}.csv") for name in TRACES}
        for name, load in TRACES.items():
            subprocess.run([program, *GENERATE, "--load", load, "--output", traces[name]], check=True,
                           capture_output=True)
        for line in COUNTS.read_text().splitlines():
            allowed, run = line.split(maxsplit=1)
            words = [word.format(out=folder, **traces) for word in run.split()]
            counted = count(program, words)
            ratio = counted / float(allowed)
            verdict = "ok" if abs(ratio - 1) <= TOLERANCE else "MORE" if ratio > 1 else "LESS"
            failed = failed or verdict != "ok"
            print(f"{counted:10.1f} million, {100 * (ratio - 1):+5.1f} %  {verdict:4}  {run}", flush=True)
            lines.append(f"{counted:.1f} {run}\n")
    if update:
        COUNTS.write_text("".join(lines))
    elif failed:
        print("gate: a count moved by more than 3 %. Find the cause; if it is meant, run ./dev bench --gate --update.")
    return 1 if failed and not update else 0


if __name__ == "__main__":
    sys.exit(main())
