// SPDX-License-Identifier: BSD-3-Clause
// A file driver for HDF5 that survives a full disk, and what goes wrong while a file is made.
#ifndef SAP_OUTPUT_RECORDER_HDF5_FILE_H
#define SAP_OUTPUT_RECORDER_HDF5_FILE_H

#include "core/error.h"

#ifdef SAPSTEP_HDF5
#include <hdf5.h>

// HDF5 1.10 crashes when the process ends if a file could not be closed, and closing needs writes.
// With this driver *failure becomes the error number of what fails (0 at first), and from then on
// writes are dropped without HDF5 knowing, so that it can always close. As new data are appended
// before anything that was written is changed, the file stays as the last flush left it. `failure`
// must outlive the file.
// -1: the file could not be created (*failure says why, ENOMEM too); the driver is to be given back
// by close all the same.
hid_t sap_hdf5_file_create(const char* path, int* failure, hid_t* driver_id);
// The driver must outlive the file: HDF5 1.10 calls it after it has let go of it.
bool sap_hdf5_file_close(hid_t file, hid_t driver_id);
// sap_allocate; for lack of memory *failure becomes ENOMEM.
void* sap_hdf5_allocate(size_t count, size_t size, int* failure);
#endif

#endif
