# SPDX-License-Identifier: BSD-3-Clause
# Turns a public header's plain comments into Doxygen's. `//` on lines of its own documents what follows,
# behind a member what stands before it, with the lines of the same column that continue it; the first
# block describes the file. Runs of lines indented further, equations and tables, stay as they are.
function text(line) {  # what Markdown and HTML would take for their own
  gsub(/[*\\@#]/, "\\\\&", line)
  gsub(/&/, "\\&amp;", line)
  gsub(/</, "\\&lt;", line)
  return line
}
function close_code(mark) {
  if (code) { print mark " </pre>"; code = 0 }
}
function emit(mark, line) {
  sub(/^ /, "", line)
  if (line ~ /^  +[^ ]/ || (code && line == "")) {
    if (!code) { print mark " <pre>"; code = 1 }
    print mark " " text(line)
  } else {
    close_code(mark)
    print mark " " text(line)
  }
}
NR == 1 { next }                      # license
NR == 2 { print "/// @file"; file = 1 }
/^ *\/\// {
  at = match($0, /\/\//)
  line = substr($0, at + 2)
  if (trailing && at == column) {
    print substr($0, 1, at - 1) "///< " text(line)
    next
  }
  if (file && line != "" && line !~ /^ /) { line = " " line }
  emit(substr($0, 1, at - 1) "///", line)
  trailing = 0
  next
}
{
  close_code("///")
  if (file && $0 !~ /^\/\//) { file = 0; print "" }
  trailing = 0
  at = match($0, /[^ :]  *\/\/ /)
  if (at && $0 !~ /"[^"]*\/\/[^"]*"/ && $0 !~ /\\$/) {
    match($0, /\/\/ /)
    column = RSTART
    trailing = 1
    print substr($0, 1, RSTART - 1) "///< " text(substr($0, RSTART + 3))
    next
  }
  print
}
