// SPDX-License-Identifier: BSD-3-Clause
// Reads data sets of HDF5 files without trust in what the files say of themselves. HDF5 1.10
// believes a file about its chunks and reads beyond one that decodes to less than it should: here
// chunks are taken as they lie in the file and are decoded by us, and whatever else has a size is
// compared with what is there before HDF5 may read it.
// Read are numbers and texts of one length, contiguous, compact or in chunks, chunks through any
// of the filters deflate, shuffle and fletcher32.
#ifndef SAP_IO_HDF5_HDF5_SET_H
#define SAP_IO_HDF5_HDF5_SET_H

#include "core/error.h"

#ifdef SAPSTEP_HDF5
#include <hdf5.h>

enum { SAP_HDF5_MOST_DIMENSIONS = 32 };  // H5S_MAX_RANK

typedef enum sap_hdf5_kind {
  SAP_HDF5_INTEGERS,
  SAP_HDF5_FLOATS,
  SAP_HDF5_TEXTS,  // of one length
  SAP_HDF5_OTHERS  // cannot be read here
} sap_hdf5_kind;

typedef struct sap_hdf5_set {
  hid_t id, type;  // type: of values in the file
  sap_hdf5_kind kind;
  size_t value_size;                       // in the file [bytes]
  int32_t rank;                            // 0: one value
  hsize_t size[SAP_HDF5_MOST_DIMENSIONS];  // (rank)
  hsize_t rows, row_values;                // rows: size[0]; the product is below 2^63
} sap_hdf5_set;

// Is there an object or link of this name? True also where the file is too damaged to tell: what
// then opens it says so.
bool sap_hdf5_exists(hid_t file, const char* name);

// False: there is no such data set, or it is damaged. Closed by close, also after a failure.
bool sap_hdf5_set_open(hid_t file, const char* name, sap_hdf5_set* set);
void sap_hdf5_set_close(sap_hdf5_set* set);

// Can a file of that size hold so many values, compressed at best? Few may be, that were never
// written. To be asked before there is memory for all of them.
bool sap_hdf5_set_fits(const sap_hdf5_set* set);

// Values of `count` rows from `first` on, all of which the set must have, as `memory`: a native
// type of numbers for numbers, the set's own type for texts. Rows that were never written have the
// set's fill value. *why: what is wrong. SYNTAX: damaged; UNSUPPORTED: kept in a way that is not
// read here; MEMORY.
sap_status sap_hdf5_set_read(const sap_hdf5_set* set, hsize_t first, hsize_t count, hid_t memory,
                             void* out, const char** why);
#endif

#endif
