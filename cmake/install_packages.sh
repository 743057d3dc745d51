#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# install_packages.sh [PACKAGE...]: installs what is missing of the compiler, the tools, the libraries and
# the packages named, by apt-get (Debian 12); needs root or sudo only if something is missing.
set -eu
packages="gcc libc6-dev cmake ninja-build pkg-config libsuitesparse-dev libopenblas-dev
  liblapacke-dev libxml2-dev libqhull-dev libhdf5-dev libjs-three $*"

missing=""
for package in $packages; do
  status=$(dpkg-query --show --showformat='${db:Status-Status}' "$package" 2>/dev/null || true)
  if [ "$status" != installed ]; then
    missing="$missing $package"
  fi
done
if [ -z "$missing" ]; then
  exit 0
fi

echo "Installing:$missing"
as_root=""
if [ "$(id -u)" -ne 0 ]; then
  if ! command -v sudo >/dev/null; then
    echo "Run as root, or install sudo: these packages are missing:$missing" >&2
    exit 1
  fi
  as_root="sudo"
fi
export DEBIAN_FRONTEND=noninteractive
$as_root apt-get update --quiet --quiet
# shellcheck disable=SC2086  # a list of words
$as_root env DEBIAN_FRONTEND=noninteractive \
  apt-get install --yes --quiet --quiet --no-install-recommends $missing
