// SPDX-License-Identifier: BSD-3-Clause
// The files of the 3D page, put into the library by cmake/page.cmake.
#ifndef SAP_OUTPUT_PAGE_PAGE_ASSETS_H
#define SAP_OUTPUT_PAGE_PAGE_ASSETS_H

#include <stddef.h>

extern const unsigned char sap_page_template[], sap_page_style[], sap_page_script[];
extern const size_t sap_page_template_size, sap_page_style_size, sap_page_script_size;
// Empty in a build without three.js.
extern const unsigned char sap_page_three[], sap_page_orbit[];
extern const size_t sap_page_three_size, sap_page_orbit_size;

#endif
