#!/usr/bin/env python3
"""Softmax regression on drawn points, as copies: `fairlead submit --copies max -- python3 copies_numpy.py`.

orders() has everything that a trainer of copies must do: docs/copies.md."""

import os
import pathlib
import sys

import numpy as np

TOTAL, RATE, BATCH, KINDS, SIZE = 2000, 0.1, 32, 5, 20


def orders(total):
    """Reports the number of steps of the job, then yields (steps, done, from, to) for each order, and
    (None, None, from, None) at the end. The caller sends back the number of steps made."""
    folder = pathlib.Path(os.environ["FAIRLEAD_COPIES_FOLDER"])

    def say(text):
        with open(os.environ["FAIRLEAD_ANSWERS"], "w") as answers:
            answers.write(f"{text}\n")

    say(f"total {total}")
    for line in iter(sys.stdin.readline, ""):
        word, *rest = line.split()
        if word == "end":
            yield None, None, folder / rest[0], None
            return
        steps, done, begin, end = int(rest[0]), int(rest[1]), rest[2], rest[3]
        made = yield steps, done, None if begin == "-" else folder / begin, folder / end
        say(f"made {made}")


def points(count, seed):
    random = np.random.default_rng(seed)
    centres = np.random.default_rng(0).normal(size=(KINDS, SIZE))
    labels = random.integers(KINDS, size=count)
    return centres[labels] + 2 * random.normal(size=(count, SIZE)), labels


def scores(weights, x):
    logits = x @ weights
    exp = np.exp(logits - logits.max(axis=1, keepdims=True))
    return exp / exp.sum(axis=1, keepdims=True)


def main():
    x, labels = points(10_000, 1)
    weights = np.zeros((SIZE, KINDS))
    each = orders(TOTAL)
    steps, done, begin, end = next(each)
    while steps is not None:
        if begin:
            weights = np.fromfile(begin, dtype="<f4").reshape(SIZE, KINDS).astype(float)
        random = np.random.default_rng([done, int(os.environ["FAIRLEAD_COPY"])])
        for _ in range(steps):
            batch = random.integers(len(x), size=BATCH)
            error = scores(weights, x[batch]) - np.eye(KINDS)[labels[batch]]
            weights -= RATE * x[batch].T @ error / BATCH
        weights.astype("<f4").tofile(end)
        try:
            steps, done, begin, end = each.send(steps)
        except StopIteration:  # another copy ends the job
            return
    weights = np.fromfile(begin, dtype="<f4").reshape(SIZE, KINDS)
    x, labels = points(2_000, 2)
    print(f"held-out accuracy {100 * np.mean(scores(weights, x).argmax(axis=1) == labels):.1f} %")


if __name__ == "__main__":
    main()
