// SPDX-License-Identifier: BSD-3-Clause
// Chunks of data sets of HDF5 files, decoded here.
#ifndef SAP_IO_HDF5_HDF5_CHUNK_H
#define SAP_IO_HDF5_HDF5_CHUNK_H

#include "io/hdf5/hdf5_set.h"

#ifdef SAPSTEP_HDF5

// As sap_hdf5_set_read, of a set whose creation list says that it is kept in chunks, none of which
// may have more than `most` bytes.
sap_status sap_hdf5_chunk_read(const sap_hdf5_set* set, hid_t list, hsize_t most, hsize_t first,
                               hsize_t count, hid_t memory, void* out, const char** why);

// By HDF5 itself, which must not trust the file in anything for the layout and filters of the set.
sap_status sap_hdf5_rows_read(const sap_hdf5_set* set, hsize_t first, hsize_t count, hid_t memory,
                              void* out, const char** why);

// Values that were never written: zeros; SYNTAX where the list has a rule of its own for them.
sap_status sap_hdf5_fill(hid_t list, hsize_t values, hid_t memory, void* out, const char** why);
#endif

#endif
