// SPDX-License-Identifier: BSD-3-Clause
// The filters that chunks of HDF5 files pass: deflate, shuffle and fletcher32.
#ifndef SAP_IO_HDF5_HDF5_FILTER_H
#define SAP_IO_HDF5_HDF5_FILTER_H

#include "core/error.h"

#ifdef SAPSTEP_HDF5
#include <hdf5.h>

enum { SAP_HDF5_MOST_FILTERS = 32 };  // H5Z_MAX_NFILTERS

typedef struct sap_hdf5_filters {
  int32_t count;
  struct {
    H5Z_filter_t id;
    size_t value_size;  // shuffle: bytes of a value
  } filter[SAP_HDF5_MOST_FILTERS];
} sap_hdf5_filters;

// False: one of them is not known here.
bool sap_hdf5_filters_find(hid_t list, sap_hdf5_filters* out);
// Bytes that a chunk may have between two filters; never less than `size`, those that it has in
// memory.
size_t sap_hdf5_filters_room(const sap_hdf5_filters* filters, size_t size);
// Undoes the filters but those of the bits in `skipped`. *bytes: `stored` bytes of the file, with
// `room`; *spare: as much room. They may change places; *bytes is decoded then. False: that does
// not give `size` bytes.
bool sap_hdf5_filters_undo(const sap_hdf5_filters* filters, uint32_t skipped, size_t stored,
                           size_t room, size_t size, unsigned char** bytes, unsigned char** spare);
#endif

#endif
