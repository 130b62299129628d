#!/usr/bin/env python3
"""Draws docs/images/one-policy-frontier.svg from results of `fairlead reproduce one-policy-frontier`.

Usage: tools/frontier_picture.py out/one-policy-frontier/reproduction.md > docs/images/one-policy-frontier.svg
"""
import math
import sys

WIDTH, HEIGHT = 720, 420
LEFT, RIGHT, TOP, BOTTOM = 64, 20, 34, 54
ERRORS = (1, 2000)  # percent, logarithmic
RATIOS = (1, 3.2)
COLOURS = {"work known": "#1764ab", "attained": "#b35900"}
NAMES = {"work known": "work known", "attained": "work not known"}


def rows(path):
    """(case, policy, error of the worst hour, mean JCT over the bound), of the table of measures."""
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
            if len(cells) == 7 and cells[0] in COLOURS:
                error, ratio = (float(cells[i].split()[0].replace(",", "")) for i in (2, 5))
                yield cells[0], cells[1], error, ratio


def x_of(error):
    part = math.log(error / ERRORS[0]) / math.log(ERRORS[1] / ERRORS[0])
    return LEFT + part * (WIDTH - LEFT - RIGHT)


def y_of(ratio):
    return HEIGHT - BOTTOM - (ratio - RATIOS[0]) / (RATIOS[1] - RATIOS[0]) * (HEIGHT - TOP - BOTTOM)


def text(x, y, words, extra=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" {extra}>{words}</text>'


def axes():
    for error in (1, 3, 10, 30, 100, 300, 1000):
        x = x_of(error)
        yield f'<path d="M{x:.1f} {TOP}V{HEIGHT - BOTTOM}" stroke="#ddd"/>'
        yield text(x, HEIGHT - BOTTOM + 16, f"{error:,} %", 'text-anchor="middle"')
    for ratio in (1, 1.5, 2, 2.5, 3):
        y = y_of(ratio)
        yield f'<path d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}" stroke="#ddd"/>'
        yield text(LEFT - 8, y + 4, f"{ratio}", 'text-anchor="end"')
    yield text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 12, "error of a user's worst hour, of its entitlement",
               'text-anchor="middle"')
    yield text(LEFT, TOP - 16, "mean completion time / what no policy can better")


def points(path):
    lines = {case: [] for case in COLOURS}
    for case, policy, error, ratio in rows(path):
        x, y, colour = x_of(error), y_of(ratio), COLOURS[case]
        if policy[0].isdigit() or policy == "no-shares":
            lines[case].append(f"{x:.1f} {y:.1f}")
            yield f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{colour}"/>'
            name = policy.replace("min", " min").replace("60s", "60 s").replace("h", " h")
            yield text(x, y + (18 if case == "work known" else -9), "no shares" if policy == "no-shares" else name,
                       f'text-anchor="middle" fill="{colour}"')
        elif case == "work known" or policy == "hadar":  # the others do not ask for it
            stroke = colour if policy == "hadar" else "#333"
            yield (f'<rect x="{x - 4:.1f}" y="{y - 4:.1f}" width="8" height="8" fill="none" '
                   f'stroke="{stroke}" stroke-width="2"/>')
            yield text(x, y + (18 if case == "attained" else -9), policy, 'text-anchor="middle" fill="#333"')
    for case, line in lines.items():
        yield f'<polyline points="{" ".join(line)}" fill="none" stroke="{COLOURS[case]}" stroke-width="2"/>'
    for i, (case, colour) in enumerate(COLOURS.items()):
        x, y = WIDTH - 190, TOP + 14 + 18 * i
        yield f'<circle cx="{x}" cy="{y - 4}" r="4" fill="{colour}"/>'
        yield text(x + 10, y, f"fairlead, {NAMES[case]}")


def main():
    if len(sys.argv) != 2 or sys.argv[1] in ("-h", "--help"):
        sys.exit(__doc__)
    print(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" '
          'font-size="12" role="img">')
    print("<title>Windows of fairlead: the longer, the earlier jobs finish and the later shares hold</title>")
    print(f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>')
    print("\n".join([*axes(), *points(sys.argv[1])]))
    print("</svg>")


main()
