#!/bin/sh
# Plants each bug of tests/torture/planted, one at a time, in a copy of the last commit, and prints a
# table: at which seed `fairlead torture` finds it, and by what.
# Usage: tests/torture/planted.sh [PRESET [SEEDS [NAME...]]]
# The copy is build/planted, which it makes and leaves there: what is built again is little.
set -u
cd "$(dirname "$0")/../.." || exit 2
preset=${1:-release}
seeds=${2:-10000}
[ $# -gt 2 ] && shift 2 || set -- tests/torture/planted/*.patch
patches=$PWD/tests/torture/planted
copy=$PWD/build/planted
log=$copy.log
CCACHE_BASEDIR=$copy CCACHE_NOHASHDIR=1
export CCACHE_BASEDIR CCACHE_NOHASHDIR

[ -d "$copy" ] || git worktree add --force --detach "$copy" > "$log" 2>&1 || exit 2
git -C "$copy" checkout -q --force --detach "$(git rev-parse HEAD)" || exit 2
launcher=
command -v ccache > /dev/null && launcher=-DCMAKE_CXX_COMPILER_LAUNCHER=ccache
(cd "$copy" && cmake --preset "$preset" $launcher -DFAIRLEAD_TESTS=OFF -DFAIRLEAD_BENCH=OFF) \
  > "$log" 2>&1 || { echo "planted.sh: cannot configure $copy ($log)" >&2; exit 2; }
cd "$copy" || exit 2

# Prints the columns of the bug that is planted; fails if it was not found.
judge() {
  cmake --build "build/$preset" --target fairlead > "$log" 2>&1 ||
    { echo "- | it does not build ($log)"; return 1; }
  found=$("build/$preset/fairlead" torture --seeds "$seeds" --first 2> /dev/null | grep -m 1 '^seed')
  [ -n "$found" ] || { echo "- | not found in $seeds seeds"; return 1; }
  echo "$found" | sed 's/^seed \([0-9]*\): after [0-9]* calls, at [0-9]* ms: /\1 | /'
}

echo "| bug | seed | found by |"
echo "|---|--:|---|"
missed=0
for name; do
  name=$(basename "$name" .patch)
  if git apply "$patches/$name.patch" 2> "$log"; then
    what=$(judge) || missed=$((missed + 1))
    git checkout -q --force
  else
    what="- | it does not apply ($log)"; missed=$((missed + 1))
  fi
  echo "| \`$name\` | $what |"
done
echo "$# bugs, $missed of them not found"
[ "$missed" -eq 0 ]
