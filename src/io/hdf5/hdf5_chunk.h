// SPDX-License-Identifier: BSD-3-Clause
// Decodes chunks of datasets of HDF5 files.
#ifndef SAP_IO_HDF5_HDF5_CHUNK_H
#define SAP_IO_HDF5_HDF5_CHUNK_H

#include "io/hdf5/hdf5_set.h"

#ifdef SAPSTEP_HDF5

// Implements sap_hdf5_set_read for a chunked set. A chunk may have at most `most` bytes.
sap_status sap_hdf5_chunk_read(const sap_hdf5_set* set, hid_t list, hsize_t most, hsize_t first,
                               hsize_t count, hid_t memory, void* out, const char** why);

// Reads rows with H5Dread. Only for layouts and filters for which HDF5 does not trust sizes in the
// file.
sap_status sap_hdf5_rows_read(const sap_hdf5_set* set, hsize_t first, hsize_t count, hid_t memory,
                              void* out, const char** why);

// Fills values that were never written with zeros. Fails with SYNTAX if the creation list defines
// another fill value.
sap_status sap_hdf5_fill(hid_t list, hsize_t values, hid_t memory, void* out, const char** why);
#endif

#endif
