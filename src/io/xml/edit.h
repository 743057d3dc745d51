// SPDX-License-Identifier: BSD-3-Clause
// Values of a scene file that the caller replaces: sap_scene_edit.
#ifndef SAP_IO_XML_EDIT_H
#define SAP_IO_XML_EDIT_H

#include <sapstep/scene.h>

#include "io/xml/xml.h"

// Makes the edits of the options in a tree whose includes are in place.
sap_status sap_scene_apply_edits(sap_xml_store* store, sap_xml_node* root,
                                 const sap_scene_options* options, sap_error* error);

#endif
