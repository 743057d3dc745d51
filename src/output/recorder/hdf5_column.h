// SPDX-License-Identifier: BSD-3-Clause
// Data sets that grow by rows, a chunk at a time.
#ifndef SAP_OUTPUT_RECORDER_HDF5_COLUMN_H
#define SAP_OUTPUT_RECORDER_HDF5_COLUMN_H

#include "core/error.h"

#ifdef SAPSTEP_HDF5
#include <hdf5.h>

#include "io/hdf5/hdf5_set.h"
#include "output/recorder/chunk_packer.h"

typedef enum sap_hdf5_number {
  SAP_HDF5_REAL,      // double
  SAP_HDF5_SHORT,     // float
  SAP_HDF5_INTEGER,   // int64
  SAP_HDF5_IDENTITY,  // int32
} sap_hdf5_number;

// What a data set is, for those who write it, and the chunk that is being filled, which another
// thread may do.
typedef struct sap_hdf5_column {
  hid_t set;         // data set, -1: none
  size_t size;       // of a value [bytes]
  int32_t width;     // values per row
  int32_t capacity;  // rows of a chunk
  bool packed;       // do chunks pass filters?
  // Of the chunk that is being filled:
  int32_t count;          // rows in the buffer
  int32_t stored;         // of these given away; the chunk then lies uncompressed in the file
  int64_t start;          // row of the file that the buffer begins with
  unsigned char* buffer;  // (capacity x width x size); NULL: the column is not recorded
} sap_hdf5_column;

// A chunk as it lies in the file.
typedef struct sap_hdf5_chunk {
  int32_t column;
  bool compressed;
  int64_t start, end;  // rows; those beyond `end` are zero
  unsigned char* bytes;
  size_t size;
} sap_hdf5_chunk;

// How a column is made.
typedef struct sap_hdf5_column_def {
  const char* name;
  sap_hdf5_number number;  // in memory, and little endian in the file
  int32_t width;           // 0: a one-dimensional data set of one value per row
  int32_t capacity;        // rows of a chunk
  int32_t compression;     // 0: none; 1 to 9: shuffled, by zlib's level
  const char* units;
  const char* columns;
} sap_hdf5_column_def;

// False: HDF5 or memory (*failure is ENOMEM) said no; the column is to be cleared all the same.
bool sap_hdf5_column_create(hid_t file, const sap_hdf5_column_def* def, sap_hdf5_column* column,
                            int* failure);
void sap_hdf5_column_clear(sap_hdf5_column* column);
// Bytes of a chunk in memory, and those that one in the file may have.
size_t sap_hdf5_column_chunk_size(const sap_hdf5_column* column);
size_t sap_hdf5_column_bound(const sap_hdf5_column* column);
// The place of the next row; the buffer must have one.
void* sap_hdf5_column_next(sap_hdf5_column* column);
// Makes what is buffered, which must be more than was given away before, a chunk for the file, its
// bytes in `bytes`, which has room for the bound. A whole chunk leaves the buffer. One that is
// whole, or `last`, is compressed (packer NULL: none is); one that is not is given as it stands and
// remains uncompressed: what lies in the file is never moved, so that a crash between two flushes
// cannot take it. Does not call HDF5.
void sap_hdf5_column_take(sap_hdf5_column* column, bool last, sap_chunk_packer* packer,
                          unsigned char* bytes, sap_hdf5_chunk* out);
// False: HDF5 said no.
bool sap_hdf5_column_write(const sap_hdf5_column* column, const sap_hdf5_chunk* chunk);

// A whole data set at once, rows x width (0: one-dimensional). False: HDF5 said no.
bool sap_hdf5_write_table(hid_t file, const sap_hdf5_column_def* def, int64_t rows,
                          const void* values);

// How data sets are created that do not remember when: the same run gives the same bytes. -1: HDF5
// said no.
hid_t sap_hdf5_timeless(void);
// A text attribute of an object, nothing for NULL.
bool sap_hdf5_attribute(hid_t object, const char* name, const char* text);
#endif

#endif
