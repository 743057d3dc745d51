#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# documentation.sh PREFIX SOURCE BUILD: the installed completion completes, and every command has a man page.
# The pages are skipped where help2man is not installed, unless SAPSTEP_NO_SKIPS is set.
set -uo pipefail
prefix=$1
source_dir=$2
build=$3
bad=0
fail() {
  echo "$*"
  bad=1
}
skip() {
  echo "skipped: $*"
  [ -z "${SAPSTEP_NO_SKIPS:-}" ] || fail "SAPSTEP_NO_SKIPS is set, but a package is missing"
}

PATH=$prefix/bin:$PATH
# shellcheck disable=SC1091  # installed
source "$prefix/share/bash-completion/completions/sapstep"
expect() { # expect WORDS-OF-THE-REPLY COMMAND-LINE...
  local words=$1
  shift
  COMP_WORDS=("$@")
  COMP_CWORD=$(($# - 1))
  _sapstep
  if [ "${COMPREPLY[*]}" != "$words" ]; then
    fail "'$*' is completed to '${COMPREPLY[*]}', not '$words'"
  fi
}
expect run sapstep ru
expect "solve solvers" sapstep solve
expect "--scheme" sapstep run --sch
expect "explicit-euler symplectic-euler implicit-euler midpoint" sapstep run --scheme ""
expect "lemke" sapstep run --solver lem
expect "on off" sapstep run --islands ""
expect "" sapstep run --dt ""
cd "$source_dir" && expect "examples/scenes/clutter_40.xml" sapstep run examples/scenes/clutter_40.x

commands=$(sapstep help | awk '/^Commands:/ {list = 1; next} /^$/ {list = 0} list && $1 != "help" {print $1}')
if [ -d "$build/man1" ]; then
  for command in $commands; do
    page=$prefix/share/man/man1/sapstep-$command.1
    grep -qs "^\.TH SAPSTEP-${command^^}" "$page" || fail "no man page of $command"
    grep -qs '^\.SH OPTIONS\|^\.SS "Options' "$page" || fail "$page has no options"
  done
else
  skip "man pages need help2man"
fi

exit $bad
