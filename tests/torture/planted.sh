#!/bin/sh
# Plants each bug of tests/torture/planted, one at a time, and tells at which seed `fairlead torture`
# finds it, and by what. Usage: tests/torture/planted.sh [BUILD FOLDER [SEEDS [NAME...]]]
# What it touches must have no changes of its own; it has none afterwards.
set -u
cd "$(dirname "$0")/../.." || exit 2
build=${1:-build/release}
seeds=${2:-10000}
[ $# -gt 2 ] && shift 2 || set -- tests/torture/planted/*.patch
git diff --quiet -- fairlead || { echo "planted.sh: fairlead has changes" >&2; exit 2; }
trap 'git checkout -q -- fairlead; exit 2' HUP INT TERM

# Prints what became of the bug that is planted; fails if it was not found.
judge() {
  log=$build/planted.log
  cmake --build "$build" --target fairlead > "$log" 2>&1 || { echo "does not build ($log)"; return 1; }
  found=$("$build/fairlead" torture --seeds "$seeds" --first 2> /dev/null | head -1)
  case $found in
    seed*) echo "$found" ;;
    *) echo "not found in $seeds seeds"; return 1 ;;
  esac
}

missed=0
for name; do
  name=$(basename "$name" .patch)
  patch=tests/torture/planted/$name.patch
  if git apply "$patch"; then
    what=$(judge) || missed=$((missed + 1))
    git apply -R "$patch"
  else
    what="does not apply"; missed=$((missed + 1))
  fi
  echo "$name: $what"
done
[ "$missed" -eq 0 ]
