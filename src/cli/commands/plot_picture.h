// SPDX-License-Identifier: BSD-3-Clause
#ifndef SAP_CLI_COMMANDS_PLOT_PICTURE_H
#define SAP_CLI_COMMANDS_PLOT_PICTURE_H

#include <sapstep/sapstep.h>

// Whether the name ends in .svg, .png or nothing.
bool plot_picture_known(const char* path);
// Panels one above the other, as SVG or, by the path's end, PNG. UNSUPPORTED: PNG without
// rsvg-convert.
sap_status plot_write_picture(const char* path, const sap_chart_panel* panels, int count,
                              sap_error* error);

#endif
