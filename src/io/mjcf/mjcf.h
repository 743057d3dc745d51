// SPDX-License-Identifier: BSD-3-Clause
// The MJCF reader.
#ifndef SAP_IO_MJCF_MJCF_H
#define SAP_IO_MJCF_MJCF_H

#include "io/xml/xml.h"

// Builds a model from the tree of a file, which it may edit.
sap_status sap_mjcf_read(const char* path, sap_xml_store* store, sap_xml_node* root,
                         const sap_scene_options* options, sap_model** out, sap_error* error);

#endif
