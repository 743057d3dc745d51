// SPDX-License-Identifier: BSD-3-Clause
// A recording as one HTML file that replays it in 3D in any browser, without a network.
#ifndef SAPSTEP_PAGE_H
#define SAPSTEP_PAGE_H

#include <sapstep/base.h>
#include <sapstep/recorder.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sap_page_options {
  const char* title;     // NULL: the model's name                                         (NULL)
  double frame_rate;     // frames per simulated second at most [1/s] >= 0; 0: every row   (60)
  int32_t max_contacts;  // of all frames together, >= 0; the strongest of each stay       (1000000)
} sap_page_options;

typedef struct sap_page_summary {
  int64_t frames, bytes;           // of the file
  int64_t contacts, contacts_all;  // in it, and how many the frames have in the recording
} sap_page_summary;

SAP_API sap_page_options sap_page_options_default(void);

// Is this a build with HDF5 and three.js?
SAP_API bool sap_page_available(void);

// The file appears whole or not at all. UNSUPPORTED: see above; IO; ARGUMENT: a recording without
// rows. options and summary may be NULL.
SAP_API sap_status sap_page_write(const sap_recording* recording, const char* path,
                                  const sap_page_options* options, sap_page_summary* summary,
                                  sap_error* error);

#ifdef __cplusplus
}
#endif

#endif
