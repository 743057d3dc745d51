#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# three.sh OUT: writes a current three.js with its OrbitControls as one script, OUT; needs npm and the network.
set -eu
out=$1
folder=$(dirname "$out")/three
mkdir -p "$folder"
cd "$folder"
[ -e package.json ] || echo '{"private": true}' > package.json
npm install --no-audit --no-fund --loglevel=error three@0.187.0 esbuild@0.28.2 > npm.log 2>&1 || { cat npm.log >&2; exit 1; }
cat > page.js <<'END_OF_PAGE'
export * from 'three';
export {OrbitControls} from 'three/addons/controls/OrbitControls.js';
END_OF_PAGE
node_modules/.bin/esbuild page.js --bundle --minify --legal-comments=inline --format=iife --global-name=THREE --log-level=error \
  --outfile="$out"
