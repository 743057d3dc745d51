// SPDX-License-Identifier: BSD-3-Clause
// A file of bytes that begins with a mark of what it is and ends with a checksum of the rest. It
// appears whole or not at all. The bytes are those of the machine that wrote them.
#ifndef SAP_CORE_SEALED_FILE_H
#define SAP_CORE_SEALED_FILE_H

#include "core/error.h"

enum { SAP_SEAL = 8 };  // bytes of the mark, and of the checksum

// The last SAP_SEAL of the `size` bytes are overwritten by the checksum. MEMORY, IO.
sap_status sap_sealed_write(const char* path, unsigned char* bytes, size_t size, sap_error* error);
// All bytes, seal included; to be freed by sap_free. IO; SYNTAX: it begins with another mark and
// is no `kind`, or it is damaged or cut off; MEMORY.
sap_status sap_sealed_read(const char* path, const char mark[SAP_SEAL], const char* kind,
                           unsigned char** bytes, size_t* size, sap_error* error);

#endif
