#!/bin/sh
# Plants each bug of tests/torture/planted, one at a time, and tells after how many seeds
# `fairlead torture` finds it. Usage: tests/torture/planted.sh [BUILD FOLDER] [SEEDS]
# The tree must have no changes of its own; it has none afterwards.
set -u
cd "$(dirname "$0")/../.." || exit 1
build=${1:-build/release}
seeds=${2:-10000}
git diff --quiet || { echo "planted.sh: the tree has changes" >&2; exit 2; }
missed=0
for patch in tests/torture/planted/*.patch; do
  name=$(basename "$patch" .patch)
  git apply "$patch" || { echo "$name: does not apply"; missed=$((missed + 1)); continue; }
  if cmake --build "$build" --target fairlead > /dev/null 2>&1; then
    found=$("$build/fairlead" torture --seeds "$seeds" --first 2>/dev/null | head -1)
    case $found in
      seed*) echo "$name: $found" ;;
      *) echo "$name: not found in $seeds seeds"; missed=$((missed + 1)) ;;
    esac
  else
    echo "$name: does not build"; missed=$((missed + 1))
  fi
  git apply -R "$patch"
done
exit $((missed > 0))
