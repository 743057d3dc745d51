// SPDX-License-Identifier: BSD-3-Clause
// HDF5 prints its errors unless told not to; kept silent from begin to end.
#ifndef SAP_IO_HDF5_HDF5_SILENCE_H
#define SAP_IO_HDF5_HDF5_SILENCE_H

#include "core/error.h"

#ifdef SAPSTEP_HDF5
#include <hdf5.h>

typedef struct sap_hdf5_silence {
  H5E_auto2_t function;
  void* data;
} sap_hdf5_silence;
void sap_hdf5_silence_begin(sap_hdf5_silence* silence);
void sap_hdf5_silence_end(const sap_hdf5_silence* silence);
// To be called after a damaged file, of which HDF5 1.10 loses memory of its own and complains of it
// when the process ends ("infinite loop closing library"), if it may report errors then.
void sap_hdf5_silence_exit(void);
#endif

#endif
