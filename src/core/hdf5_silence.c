// SPDX-License-Identifier: BSD-3-Clause
#define _POSIX_C_SOURCE 200809L
#include "core/hdf5_silence.h"

#ifdef SAPSTEP_HDF5
#include <pthread.h>
#include <stdlib.h>

static void silence_for_good(void) {
  (void)H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
}

static void register_silence(void) {
  (void)atexit(silence_for_good);
}

// HDF5 1.10 loses memory of its own when part of a file is damaged, and tells so when the process
// ends ("infinite loop closing library") if it may report errors then. What is registered for the
// end after HDF5 has registered itself comes before it.
void sap_hdf5_silence_begin(sap_hdf5_silence* silence) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  (void)H5Eget_auto2(H5E_DEFAULT, &silence->function, &silence->data);
  (void)H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
  (void)pthread_once(&once, register_silence);
}

void sap_hdf5_silence_end(const sap_hdf5_silence* silence) {
  (void)H5Eset_auto2(H5E_DEFAULT, silence->function, silence->data);
}
#endif
