// SPDX-License-Identifier: BSD-3-Clause
// sap_scene_edit: values of a scene file that the caller replaces.
#ifndef SAP_IO_XML_EDIT_H
#define SAP_IO_XML_EDIT_H

#include <sapstep/scene.h>

#include "io/xml/xml.h"

// Applies the edits of the options to a tree whose includes have been expanded.
sap_status sap_scene_apply_edits(sap_xml_store* store, sap_xml_node* root,
                                 const sap_scene_options* options, sap_error* error);

#endif
