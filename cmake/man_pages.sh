#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# man_pages.sh PROGRAM FOLDER: writes a man page of the program and one of each command, from their own help
# (needs help2man).
set -eu
program=$1
folder=$2
mkdir -p "$folder"

page() { # page NAME SUMMARY HELP
  help2man --no-info --section=1 --name="$2" --help-option="$3" "$program" |
    sed -e "s/^\.TH SAPSTEP/.TH $(echo "$1" | tr '[:lower:]' '[:upper:]')/" \
        -e "s/^sapstep \\\\- /$(echo "$1" | sed 's/-/\\\\-/') \\\\- /" >"$folder/$1.1"
}

page sapstep "step robot simulations with frictional contact" --help
"$program" --help | sed -n '/^Commands:/,/^$/s/^  \([a-z]*\)  *\(.*\)/\1 \2/p' |
  while read -r command summary; do
    if [ "$command" != help ]; then
      page "sapstep-$command" "$summary" "$command --help"
    fi
  done
