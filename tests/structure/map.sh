#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# map.sh SOURCE_DIR: checks src/README.md. Every `path:function` must name a file and a function defined in it,
# every room must be listed and exist, and each equation of the index must lead to exactly one function. The pages of
# rooms and CONTRIBUTING.md must name files and functions that exist.
# shellcheck disable=SC2016  # backquotes of Markdown
set -euo pipefail
cd "$1"
map=src/README.md
bad=0

complain() {
  echo "$map: $1"
  bad=1
}

# defines FILE FUNCTION: FILE holds a definition, not only a call or a declaration.
defines() {
  awk -v name="$2" '
    {
      if ($0 ~ "^[A-Za-z_].*[ *]" name "\\(" || $0 ~ "^" name "\\(" ||
          $0 ~ "^#define " name "\\(" || $0 ~ "^typedef .* " name ";" || $0 ~ "^} " name ";") {
        inside = 1
      }
      if (inside && /;[ \t]*(\/\/.*)?$/ && !/\{/ && $0 !~ /^(#define|typedef|})/) { inside = 0 }
      if (inside && (/\{/ || /^(#define|typedef|})/)) { found = 1; exit }
    }
    END { exit !found }' "$1"
}

# Stations, answers and equations: `path:function`.
count=0
while IFS=: read -r path name; do
  count=$((count + 1))
  if [ ! -f "$path" ]; then
    complain "no file $path"
  elif ! defines "$path" "$name"; then
    complain "$path does not define $name"
  fi
done < <(grep -oE '`[a-z_/]+[a-z0-9_]*\.(c|h|inc|py):[A-Za-z0-9_]+`' "$map" | tr -d '`' | sort -u)
if [ "$count" -lt 30 ]; then
  complain "only $count functions found: this check reads the wrong place"
fi

# Rooms: every folder with sources is listed as `room/`, or its parent is; every listed room exists.
listed=$(grep -oE '^\| `[a-z_/0-9]+/`' "$map" | tr -d '|` ' | sort -u)
while IFS= read -r room; do
  grep -qxF -e "$room/" -e "${room%/*}/" -e "${room%/*/*}/" <<< "$listed" || complain "the room $room/ is not listed"
done < <(find src integrators include -type f \( -name '*.[ch]' -o -name '*.inc' -o -name '*.py' \) -printf '%h\n' | sort -u)
while IFS= read -r room; do
  [ -d "$room" ] || complain "no room $room"
done <<< "$listed"

# Equations: the first column of the index is unique, and each row has one function.
index=$(sed -n '/^## Index of equations/,/^## /p' "$map" | grep -E '^\| (castro|tsounis|lelidec|todorov|carpentier)' || true)
if [ -z "$index" ]; then
  complain "no index of equations"
fi
while IFS= read -r twice; do
  complain "$twice is listed twice in the index"
done < <(cut -d'|' -f2 <<< "$index" | sort | uniq -d)
while IFS= read -r row; do
  if [ "$(grep -oE '`[^`]+:[A-Za-z0-9_]+`' <<< "$row" | wc -l)" -ne 1 ]; then
    complain "not one function in: $row"
  fi
done <<< "$index"
for number in $(seq 13 37); do
  grep -qE "^\| castro \($number\)" <<< "$index" || complain "castro ($number) is not in the index"
done

# Pages of rooms: `file.c` and `file.c:function`, relative to the room.
for page in integrators/README.md src/solvers/README.md src/multibody/README.md; do
  while IFS=: read -r path name; do
    file=$(find "${page%/*}" src include tests -path "*/$path" -print -quit)
    [ -f "$path" ] && file=$path
    if [ -z "$file" ]; then
      echo "$page: no file $path"
      bad=1
    elif [ -n "$name" ] && ! defines "$file" "$name"; then
      echo "$page: $file does not define $name"
      bad=1
    fi
  done < <(grep -oE '`[a-z_/]+[a-z0-9_]*\.(c|h|inc)(:[A-Za-z0-9_]+)?`' "$page" | tr -d '`' | sort -u)
done
while IFS= read -r path; do
  if [ ! -e "$path" ]; then
    echo ".github/CONTRIBUTING.md: no file $path"
    bad=1
  fi
done < <(grep -oE '`(src|include|tests|cmake|integrators)/[A-Za-z0-9_/]+\.[a-z]+`' .github/CONTRIBUTING.md | tr -d '`' | sort -u)
exit $bad
