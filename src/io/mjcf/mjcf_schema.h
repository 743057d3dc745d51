// SPDX-License-Identifier: BSD-3-Clause
// Sections of MJCF that mjcf_schema.c is put together from.
#ifndef SAP_IO_MJCF_MJCF_SCHEMA_H
#define SAP_IO_MJCF_MJCF_SCHEMA_H

#include "io/xml/schema.h"

extern const sap_schema_element sap_mjcf_compiler, sap_mjcf_option, sap_mjcf_keyframe,
    sap_mjcf_custom;

#endif
