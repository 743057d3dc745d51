// SPDX-License-Identifier: BSD-3-Clause
// Files of bytes that begin with a mark of their kind and end with a checksum. They are written
// whole or not at all, in the machine's byte order.
#ifndef SAP_CORE_SEALED_FILE_H
#define SAP_CORE_SEALED_FILE_H

#include "core/error.h"

enum { SAP_SEAL = 8 };  // bytes of the mark, and of the checksum

// Writes the bytes; overwrites the last SAP_SEAL of them by the checksum. fails: MEMORY, IO.
sap_status sap_sealed_write(const char* path, unsigned char* bytes, size_t size, sap_error* error);
// Reads all bytes, seal included; free them with sap_free. fails: IO; SYNTAX if the file begins
// with another mark, is damaged or cut off; MEMORY.
sap_status sap_sealed_read(const char* path, const char mark[SAP_SEAL], const char* kind,
                           unsigned char** bytes, size_t* size, sap_error* error);

#endif
