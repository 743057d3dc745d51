#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# symbols.sh SOURCE_DIR CC CXX ARCHIVE: the library neither prints, nor ends the process, nor keeps state
# of its own; read off the objects, so that a macro hides nothing.
set -euo pipefail
archive=$4
bad=0
names=$(nm "$archive")
if ! grep -q ' T sap_status_text' <<< "$names"; then
  echo "$archive is not the library"
  exit 1
fi

forbidden='printf|vprintf|puts|putchar|perror|stdout|stderr|exit|_exit|quick_exit|abort|rand|srand'
forbidden="$forbidden|random|srandom|drand48|__assert_fail|__printf_chk|__vprintf_chk|strtok|setlocale"
if nm -A --undefined-only "$archive" | grep -E " U ($forbidden)(@.*)?\$"; then
  echo "the library must not call these"
  bad=1
fi

# Writable data: objects in .data, .bss or thread-local storage. Sanitizers add some of their own.
if ! grep -q __asan_init <<< "$names"; then
  if objdump -t "$archive" | grep -E '^[0-9a-f]+ [ a-zA-Z]+ ' |
    grep -E ' (\.data|\.bss|\.tdata|\.tbss)(\.[A-Za-z0-9_]+)*[[:space:]]' | grep -vE '\.data\.rel\.ro| d  ?\.'; then
    echo "the library must not keep state of its own"
    bad=1
  fi
fi

# External names begin with sap_.
if nm --defined-only --extern-only "$archive" | awk 'NF == 3 {print $3}' | grep -vE '^(sap_|__odr_asan|__asan)'; then
  echo "external names must begin with sap_"
  bad=1
fi
exit $bad
