// SPDX-License-Identifier: BSD-3-Clause
// Texts that users write: studies, control values.
#ifndef SAP_CLI_TEXT_FILE_H
#define SAP_CLI_TEXT_FILE_H

#include "core/error.h"

// All of a file or pipe, without the mark that some editors put in front of UTF-8, ended by '\0';
// to be freed. NULL: it cannot be read, holds bytes that are no text, or memory is lacking.
char* cli_read_text(const char* path, sap_error* error);
// Cuts the next line off, without its end; NULL when there is none left.
char* cli_next_line(char** rest);

#endif
