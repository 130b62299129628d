#!/usr/bin/env python3
"""Builds the page of `fairlead report`, or checks that the one in the tree is what its sources give.

  tools/page.py            builds web/built/report.html, and writes web/built/report.sha256
  tools/page.py --check    builds it in a scratch folder, and compares the bytes; without npm, hashes alone
  tools/page.py --hashes   compares hashes alone, which needs no Node.js

The build depends on nothing but the files under SOURCES: package-lock.json fixes the versions of all that runs.
report.sha256 has the hash of the page and that of its sources, which is what `sha256sum FILES | sha256sum` prints.
"""

import hashlib
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

WEB = pathlib.Path(__file__).resolve().parent.parent / "web"
SOURCES = ("package-lock.json", "package.json", "src", "tools/build.mjs", "tsconfig.json")
PAGE = WEB / "built/report.html"
HASHES = WEB / "built/report.sha256"
REPAIR = "run ./dev page, which needs Node.js 18 and npm, and commit web/built with its sources"
# Errors of npm if its registry does not answer, or if a proxy refuses.
UNREACHABLE = re.compile(r"npm (?:error|ERR!) code (?:EAI_AGAIN|ECONN\w+|EHOSTUNREACH|ENETUNREACH|ENOTFOUND|ETIMEDOUT|"
                         r"ENOTCACHED|E?IDLETIMEOUT|ERR_SOCKET_TIMEOUT|E403|E407|E429|E5\d\d|\w*CERT\w*)\b")


class NoPackages(Exception):
    """npm is missing, or its registry does not answer."""


def source_names():
    """Returns the names of all sources within web/, in order; without those of editors."""
    found = []
    for name in SOURCES:
        path = WEB / name
        for file in path.rglob("*") if path.is_dir() else [path]:
            if file.is_file() and not re.search(r"^[.#]|~$", file.name):
                found.append(file.relative_to(WEB).as_posix())
    return sorted(found)


def sha256(data):
    return hashlib.sha256(data).hexdigest()


def hashes(page):
    """Returns the text of report.sha256 for a page, and for the sources as they are now."""
    listed = "".join(f"{sha256((WEB / name).read_bytes())}  {name}\n" for name in source_names())
    return f"{sha256(page)}  report.html\n{sha256(listed.encode())}  its sources\n"


def run(folder, *command):
    done = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode == 0:
        return
    if command[0] == "npm" and (code := UNREACHABLE.search(done.stdout)):
        raise NoPackages(code[0])
    sys.exit(f"page: {' '.join(command)} failed:\n{done.stdout}")


def build():
    """Returns the page, built in a scratch folder from a copy of the sources, so that no other file has a part in it."""
    for program in ("node", "npm"):
        if not shutil.which(program):
            raise NoPackages(f"{program} is not installed")
    with tempfile.TemporaryDirectory(prefix="fairlead-page-") as scratch:
        folder = pathlib.Path(scratch)
        for name in source_names():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(WEB / name, folder / name)
        run(folder, "npm", "ci", "--include=dev", "--ignore-scripts", "--no-audit", "--no-fund", "--prefer-offline",
            "--fetch-retries=1", "--fetch-timeout=60000")
        run(folder, "node", "tools/build.mjs", "--outdir", "built")
        return (folder / "built/report.html").read_bytes()


def check_hashes():
    """Exits with what is wrong, unless the page and the sources have the hashes that were written with them."""
    if not PAGE.is_file() or not HASHES.is_file():
        sys.exit(f"page: web/built is incomplete: {REPAIR}")
    page_then, sources_then = HASHES.read_text().splitlines()
    page_now, sources_now = hashes(PAGE.read_bytes()).splitlines()
    if sources_then != sources_now:
        sys.exit(f"page: the sources of the report page in web/ changed after it was built: {REPAIR}")
    if page_then != page_now:
        sys.exit(f"page: web/built/report.html was changed by hand: {REPAIR}")


def check():
    check_hashes()
    try:
        page = build()
    except NoPackages as error:
        print(f"page: compared hashes alone, because npm cannot install what builds the page ({error})")
        return
    if page != PAGE.read_bytes():
        sys.exit(f"page: web/built/report.html is not what web/ builds: {REPAIR}")
    print("page: web/built/report.html is what web/ builds")


def write():
    try:
        page = build()
    except NoPackages as error:
        sys.exit(f"page: npm cannot install what builds the page ({error})")
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_bytes(page)
    HASHES.write_text(hashes(page))
    print(f"page: web/built/report.html, {len(page)} bytes")


COMMANDS = {"": write, "--check": check, "--hashes": check_hashes}

if __name__ == "__main__":
    command = COMMANDS.get(" ".join(sys.argv[1:]))
    if not command:
        sys.exit(__doc__)
    command()
