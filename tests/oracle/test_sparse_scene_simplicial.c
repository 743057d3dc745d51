// SPDX-License-Identifier: BSD-3-Clause
// The same with cholesky.c of a build with SAPSTEP_SUPERNODAL=OFF, which takes the place of the
// library's.
#undef SAPSTEP_SUPERNODAL
#include "linalg/cholesky.c"

#include "oracle/test_sparse_scene.c"
