// SPDX-License-Identifier: BSD-3-Clause
// A data set that grows by rows, a buffered chunk at a time.
#ifndef SAP_OUTPUT_HDF5_COLUMN_H
#define SAP_OUTPUT_HDF5_COLUMN_H

#include "core/error.h"

#ifdef SAPSTEP_HDF5
#include <hdf5.h>

#include "core/hdf5_silence.h"

typedef enum sap_hdf5_number {
  SAP_HDF5_REAL,      // double
  SAP_HDF5_SHORT,     // float
  SAP_HDF5_INTEGER,   // int64
  SAP_HDF5_IDENTITY,  // int32
} sap_hdf5_number;

typedef struct sap_hdf5_column {
  hid_t set;         // data set, -1: none
  hid_t type;        // of a value
  size_t size;       // of a value [bytes]
  int32_t width;     // values per row
  int32_t capacity;  // rows of a chunk
  int32_t count;     // rows in the buffer
  int32_t stored;    // of these in the file already; then the chunk lies there uncompressed
  int64_t start;     // row of the file that the buffer begins with
  int32_t compression;
  unsigned char* buffer;  // one chunk                          (capacity x width x size)
} sap_hdf5_column;

// How a column is made.
typedef struct sap_hdf5_column_def {
  const char* name;
  sap_hdf5_number number;  // in memory, and little endian in the file
  int32_t width;           // 0: a one-dimensional data set of one value per row
  int32_t capacity;        // rows of a chunk
  int32_t compression;     // 0: none; 1: quick_deflate.h; 2 to 9: zlib's level
  const char* units;
  const char* columns;
} sap_hdf5_column_def;

// False: HDF5 or memory said no; the column is to be cleared all the same.
bool sap_hdf5_column_create(hid_t file, const sap_hdf5_column_def* def, sap_hdf5_column* column);
void sap_hdf5_column_clear(sap_hdf5_column* column);
// Bytes that sap_hdf5_column_flush needs to compress in.
size_t sap_hdf5_column_scratch(const sap_hdf5_column* column);
// The place of the next row; the buffer must have one.
void* sap_hdf5_column_next(sap_hdf5_column* column);
// Writes what is buffered; a whole chunk leaves the buffer. A chunk that is whole, or `last`, is
// compressed; one that is not is written as it stands, and remains so: what lies in the file is
// never moved, so that a crash between two flushes cannot take it.
bool sap_hdf5_column_flush(sap_hdf5_column* column, bool last, unsigned char* scratch);

// A whole data set at once, rows x width (0: one-dimensional). False: HDF5 said no.
bool sap_hdf5_write_table(hid_t file, const sap_hdf5_column_def* def, int64_t rows,
                          const void* values);

// A text attribute of an object, nothing for NULL.
bool sap_hdf5_attribute(hid_t object, const char* name, const char* text);
#endif

#endif
