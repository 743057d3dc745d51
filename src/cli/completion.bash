# SPDX-License-Identifier: BSD-3-Clause
# Completion of the program sapstep for bash. Commands, options and their values come from the program's
# own help, so that this file knows none of them.

# Prints the values of option $2 of command $1: its words, where its argument is "on|off" or its help starts with
# "this, that or other"; FILES, where its argument is one; nothing for a number or without an argument.
_sapstep_values() {
  sapstep help "$1" 2>/dev/null | awk -v option="$2" '
    /^ +-/ { found = ($1 == option); if (found) argument = $2; sub(/^ +-[^ ]+ +[^ ]+ */, "") }
    found { text = text " " $0 }
    END {
      gsub(/ +/, " ", text)
      if (argument ~ /\|/) {
        gsub(/\|/, " ", argument)
        print argument
      } else if (argument ~ /FILE|FOLDER|DIR|SCENE/) {
        print "FILES"
      } else if (match(text, /^ ([a-z][a-z0-9-]*, )*[a-z][a-z0-9-]* or [a-z][a-z0-9-]*/)) {
        list = substr(text, RSTART, RLENGTH)
        gsub(/,| or /, " ", list)
        print list
      } else if (argument ~ /^[A-Z]+$/) {
        print "NOTHING"
      }
    }'
}

_sapstep_commands() {
  sapstep help | awk '/^Commands:/ {list = 1; next} /^$/ {list = 0} list {print $1}'
}

_sapstep() {
  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} words=""
  COMPREPLY=()
  if [ "$COMP_CWORD" -eq 1 ]; then
    words="$(_sapstep_commands) --help --version"
  elif [ "${COMP_WORDS[1]}" = help ]; then
    words=$(_sapstep_commands)
  else
    case $previous in
      --solver | --solvers) words=$(sapstep solvers --format csv | awk -F, 'NR > 1 {print $1}') ;;
      --*) words=$(_sapstep_values "${COMP_WORDS[1]}" "$previous") ;;
    esac
    if [ -z "$words" ] && [[ $current == -* ]]; then
      words=$(sapstep help "${COMP_WORDS[1]}" 2>/dev/null |
        grep -oE '^ +(-h, )?--[a-z0-9-]+' | grep -oE '\--[a-z0-9-]+')
    fi
  fi
  case $words in
    NOTHING) ;;
    "" | FILES)
      compopt -o filenames 2>/dev/null
      mapfile -t COMPREPLY < <(compgen -f -- "$current") ;;
    *) mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current") ;;
  esac
}
complete -F _sapstep sapstep
