#!/bin/sh
# count.sh FILE UNITS UNIT_S CODE: does UNITS of work, a line of FILE each, and ends with CODE. It continues
# from the existing lines. As a rank of a gang it counts in FILE.RANK. FILE.wrong gets a line when it runs
# twice at a time, or although all ranks came to their end and none was asked to leave.
file=$1${RANK:+.$RANK}
exec 9>>"$file.lock"
flock -n 9 || echo "$$ runs beside another one" >>"$1.wrong"
is_over=true
rank=0
while [ "$rank" -lt "${WORLD_SIZE:-1}" ]; do
  case $(tail -n 1 "$1${RANK:+.$rank}" 2>&-) in
    end*) ;;
    *) is_over=false ;;
  esac
  rank=$((rank + 1))
done
if $is_over; then echo "$$ runs after the end" >>"$1.wrong"; fi
leave() { echo "term $$" >>"$file"; exit 143; }
trap leave TERM
echo "start $$" >>"$file"
i=$(grep -c '^unit' "$file")
while [ "$i" -lt "$2" ]; do
  sleep "$3"
  echo "unit $i $$" >>"$file"
  i=$((i + 1))
done
trap 'echo "term $$" >>"$file"' TERM
echo "end $$" >>"$file"
exit "$4"
