// SPDX-License-Identifier: BSD-3-Clause
// Conventions, status codes and the error object that every other header uses.
//
// Units        SI: m, kg, s, rad, N, N s.
// Numbers      double; indices int32_t; sizes in bytes size_t.
// Quaternions  w, x, y, z; unit; rotate body coordinates to world coordinates.
// Rotations    R_WB: 3x3, column-major, columns are the axes of B in W.
// Spatial      velocities are [omega; v], momenta and forces [moment; force].
// Matrices     column-major with an explicit leading dimension; symmetric ones store (and are read
//              from) the lower triangle.
// Contacts     frame C at the contact point, z = normal from body A into body B; every contact
//              3-vector is [t1, t2, n]; vc is the velocity of B relative to A, vc_n > 0 separates;
//              phi is the signed distance, phi < 0 penetration.
// Dofs         are ordered tree by tree.
// Threads      objects are independent: two threads may use two objects. One object is used by
//              one thread at a time, except the immutable sap_model, which threads may share.
// Ownership    a pointer argument is borrowed for the call unless its comment says otherwise.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Around declarations: C linkage in C++.
#ifdef __cplusplus
#define SAP_C_BEGIN extern "C" {
#define SAP_C_END }
#else
#define SAP_C_BEGIN
#define SAP_C_END
#endif

SAP_C_BEGIN

#if defined(_WIN32)
#define SAP_API
#else
#define SAP_API __attribute__((visibility("default")))
#endif

// Why a call failed. Convergence of a solver is not a status: see sap_outcome.
#define SAP_STATUS_LIST(X)                                                                     \
  X(OK, "ok")                                                                                  \
  X(ARGUMENT, "invalid argument")      /* null, wrong size, out of range                */     \
  X(NOT_FINITE, "value is not finite") /* NaN or infinity where a number is needed      */     \
  X(NOT_SPD, "matrix is not positive definite")                                                \
  X(MEMORY, "out of memory")                                                                   \
  X(SYNTAX, "syntax error")                /* a file's text is malformed                    */ \
  X(UNSUPPORTED, "not supported")          /* understood, but this build cannot do it       */ \
  X(IO, "input/output error")              /* file missing, unreadable, unwritable          */ \
  X(STEP_FAILED, "step could not be done") /* free motion did not converge, not finite      */ \
  X(CALLBACK, "callback failed")           /* a user's function returned an error           */ \
  X(INTERNAL, "internal error")

typedef enum sap_status {
#define SAP_X(name, text) SAP_STATUS_##name,
  SAP_STATUS_LIST(SAP_X)
#undef SAP_X
      SAP_STATUS_COUNT
} sap_status;

// Returns the text of a status ("invalid argument"); never NULL, not even for an unknown value.
SAP_API const char* sap_status_text(sap_status status);

// Types of the fields in the lists that define options structs:
//   X(type, name, default, minimum, maximum, "meaning [unit]")
// `positive` excludes its minimum. The types of enums are declared next to them.
typedef double sap_type_real;
typedef double sap_type_positive;
typedef int32_t sap_type_integer;
typedef bool sap_type_boolean;

enum { SAP_ERROR_MESSAGE_SIZE = 512 };

// Error of a failed call, in the caller's memory. Every function with an error argument accepts
// NULL. A successful call leaves it unchanged.
typedef struct sap_error {
  sap_status status;                     // returned by the call
  char message[SAP_ERROR_MESSAGE_SIZE];  // one line; names the offending element
} sap_error;

// Receives one line per warning, e.g. an element that a reader skipped. `message` is valid during
// the call only.
typedef void (*sap_message_function)(void* context, const char* message);

// Returns the version of the linked library, "major.minor.patch".
SAP_API const char* sap_version(void);

SAP_C_END

// Version of these headers; sap_version() returns the library's.
#define SAP_VERSION_MAJOR 0
#define SAP_VERSION_MINOR 3
#define SAP_VERSION_PATCH 0
