#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# layers.sh SOURCE_DIR CC CXX ARCHIVE OBJECTS: a room includes and calls only itself and the rooms before it in
# this list. Calls are read from the symbols of the library's objects; OBJECTS is a file with their paths.
set -euo pipefail
cd "$1"
objects=$5
layers=(core math linalg contact problem solvers integrators multibody/model multibody/dynamics
  multibody/geometry multibody/assembly multibody/engine io output mujoco cli python)
outside='^(mujoco|cli|python)$' # not in the library's objects
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
bad=0

for layer in "${layers[@]}"; do
  if [ ! -d "src/$layer" ] && [ ! -d "$layer" ]; then
    echo "the list names a room that does not exist: $layer"
    bad=1
  fi
done
printf '%s\n' "${layers[@]}" > "$scratch/layers"

# Reads the levels; room(path) is the room of a path without src/.
cat > "$scratch/room.awk" << 'AWK'
FILENAME == layer_file { level[$1] = FNR; next }
function room(path,    parts) {
  split(path, parts, "/")
  return parts[1] == "multibody" ? parts[1] "/" parts[2] : parts[1]
}
AWK

# Includes: "file include" lines.
find src integrators \( -name '*.[ch]' -o -name '*.inc' \) | sort | while IFS= read -r file; do
  sed -n "s|^ *# *include *\"\([^\"]*\)\".*|${file#src/} \1|p" "$file"
done > "$scratch/includes"
awk -v layer_file="$scratch/layers" "$(cat "$scratch/room.awk")"'
{
  own = room($1); other = room($2); count++
  if (!(own in level)) { print $1 ": no such room: " own; bad = 1 }
  else if (!(other in level)) { print $1 " includes \"" $2 "\": no such room"; bad = 1 }
  else if (level[other] > level[own]) { print $1 " includes \"" $2 "\", which lies above it"; bad = 1 }
}
END {
  if (count == 0) { print "no includes found: this check reads the wrong place"; bad = 1 }
  exit bad
}' "$scratch/layers" "$scratch/includes" || bad=1

# Symbols: "path type name" lines, the path without the folders of the build.
tr '\n' '\0' < "$objects" | xargs -0 nm -A | sed -e 's|^.*sapstep_objects\.dir/\(\./\)*||' \
  -e 's|^kernels/||' -e 's|^src/||' -e 's|^page_assets|output/page_assets|' -e 's|^schema_lines|io/schema_lines|' |
  awk '{sub(/\.o:.*/, "", $1); print $1, $(NF - 1), $NF}' > "$scratch/symbols"
awk -v layer_file="$scratch/layers" -v outside="$outside" "$(cat "$scratch/room.awk")"'
{
  own = room($1); seen[own] = 1
  if (!(own in level)) { if (!told[own]++) print $1 ": no such room: " own; bad = 1 }
  else if ($2 == "U") { users[$3] = users[$3] " " $1 }
  else if ($2 ~ /^[TDRBV]$/) { home[$3] = $1 }
}
END {
  for (name in users) {
    if (!(name in home)) continue
    other = room(home[name]); n = split(users[name], user, " ")
    for (i = 1; i <= n; i++) {
      own = room(user[i])
      if (own != other) count++
      if (level[other] > level[own]) {
        print user[i] " uses " name " of " home[name] ", which lies above it"; bad = 1
      }
    }
  }
  if (count == 0) { print "no calls between rooms found: this check reads the wrong objects"; bad = 1 }
  for (own in level) {
    found = "find src/" own " " own " -name \"*.c\" 2> /dev/null"
    if ((found | getline) > 0 && !(own in seen) && own !~ outside) { print "no object of room " own; bad = 1 }
    close(found)
  }
  exit bad
}' "$scratch/layers" "$scratch/symbols" || bad=1

# Only the linear algebra knows CHOLMOD and KLU, and only one file of it each.
for header in cholmod.h klu.h; do
  users=$({ grep -lE "# *include *[<\"].*$header" -r src integrators include || true; } | wc -l)
  if [ "$users" -gt 1 ]; then
    echo "$users files include $header; one may"
    bad=1
  fi
done
exit $bad
