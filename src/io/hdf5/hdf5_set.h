// SPDX-License-Identifier: BSD-3-Clause
// Reads datasets of HDF5 files without trusting the sizes that the files declare. HDF5 1.10 reads
// beyond the end of a chunk that decodes to fewer bytes than declared. Therefore the length of
// every chunk, decoded for this alone, and every other size are checked before HDF5 reads.
// Supported: integers, reals of 4 and 8 bytes and strings of fixed length; contiguous, compact and
// chunked layouts; the filters shuffle and deflate.
#pragma once

#include "core/error.h"

#include <hdf5.h>

enum { SAP_HDF5_MOST_DIMENSIONS = 32 };  // H5S_MAX_RANK

typedef enum sap_hdf5_kind {
  SAP_HDF5_INTEGERS,
  SAP_HDF5_FLOATS,
  SAP_HDF5_TEXTS,  // strings of fixed length
  SAP_HDF5_OTHERS  // not supported
} sap_hdf5_kind;

typedef struct sap_hdf5_set {
  hid_t id, type;  // type: type of the values in the file
  sap_hdf5_kind kind;
  size_t value_size;                       // size of a value in the file [bytes]
  int32_t rank;                            // 0: one value
  hsize_t size[SAP_HDF5_MOST_DIMENSIONS];  // (rank)
  hsize_t rows, row_values;                // rows: size[0]; the product is below 2^63
} sap_hdf5_set;

// Returns true if an object or link of this name exists, or if the file is too damaged to tell:
// then opening the object fails with a message.
bool sap_hdf5_exists(hid_t file, const char* name);

// Returns false if there is no such dataset or it is damaged. Must be closed, also after a failure.
bool sap_hdf5_set_open(hid_t file, const char* name, sap_hdf5_set* set);
void sap_hdf5_set_close(sap_hdf5_set* set);

// Returns true if a file of this size can hold all values, at the best compression. (A few values
// that were never written are allowed.) Call it before allocating memory for all values.
bool sap_hdf5_set_fits(const sap_hdf5_set* set);

// Reads rows [first, first + count), which must exist, converted to the type `memory`: a native
// numeric type for numbers, the set's own type for strings. Rows that were never written have the
// fill value. On failure *why describes the reason. Fails with SYNTAX (damaged), UNSUPPORTED
// (layout or filter) or MEMORY.
sap_status sap_hdf5_set_read(const sap_hdf5_set* set, hsize_t first, hsize_t count, hid_t memory,
                             void* out, const char** why);

// Suppresses the error messages that HDF5 prints, from begin to end.
typedef struct sap_hdf5_silence {
  H5E_auto2_t function;
  void* data;
} sap_hdf5_silence;
void sap_hdf5_silence_begin(sap_hdf5_silence* silence);
void sap_hdf5_silence_end(const sap_hdf5_silence* silence);
// Does so while it executes an expression: SAP_HDF5_QUIET(status = read_all(file))
#define SAP_HDF5_QUIET(expression)         \
  do {                                     \
    sap_hdf5_silence sap_silence_;         \
    sap_hdf5_silence_begin(&sap_silence_); \
    (void)(expression);                    \
    sap_hdf5_silence_end(&sap_silence_);   \
  } while (0)
// Suppresses messages at the end of the process too. Call it after a damaged file: HDF5 1.10 then
// leaks memory of its own and prints "infinite loop closing library" at exit.
void sap_hdf5_silence_exit(void);
