// SPDX-License-Identifier: BSD-3-Clause
#include "io/hdf5/hdf5_silence.h"

#ifdef SAPSTEP_HDF5
#include <stdlib.h>

static void silence_for_good(void) {
  (void)H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
}

// What is registered for the end after HDF5 has registered itself comes before it.
void sap_hdf5_silence_exit(void) {
  (void)H5open();
  (void)atexit(silence_for_good);
}

void sap_hdf5_silence_begin(sap_hdf5_silence* silence) {
  (void)H5Eget_auto2(H5E_DEFAULT, &silence->function, &silence->data);
  (void)H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
}

void sap_hdf5_silence_end(const sap_hdf5_silence* silence) {
  (void)H5Eset_auto2(H5E_DEFAULT, silence->function, silence->data);
}
#endif
