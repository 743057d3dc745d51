// SPDX-License-Identifier: BSD-3-Clause
// Functions whose loops have constant bounds once they are inlined: that keeps tiles in registers.
#ifndef SAP_LINALG_INLINE_H
#define SAP_LINALG_INLINE_H

#if defined(__GNUC__)
#define SAP_INLINE inline __attribute__((always_inline))
#else
#define SAP_INLINE inline
#endif

#endif
