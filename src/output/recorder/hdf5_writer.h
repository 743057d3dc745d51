// SPDX-License-Identifier: BSD-3-Clause
// Writes HDF5 files: a file driver that survives a full disk, whole data sets, and data sets that
// grow by chunks.
#pragma once

#include "core/error.h"

#include <hdf5.h>

#include "io/hdf5/hdf5_set.h"

// HDF5 1.10 crashes at the end of the process if a file could not be closed, and closing needs
// writes. With the driver of hdf5_driver.c, *failure becomes the error number of the first write
// that fails (0 at first); later writes are dropped unknown to HDF5, so that it can always close.
// The file stays as the last flush left it, also if the process is killed.
// Returns -1 if the file could not be created; *failure is then the reason, ENOMEM included.
// `failure` must outlive the file. Always call sap_hdf5_file_close.
hid_t sap_hdf5_file_create(const char* path, int* failure, hid_t* driver_id);
// Closes the file, then the driver: HDF5 1.10 calls the driver after it has released it.
bool sap_hdf5_file_close(hid_t file, hid_t driver_id);
// Calls sap_allocate; for lack of memory *failure becomes ENOMEM.
void* sap_hdf5_allocate(size_t count, size_t size, int* failure);

// All functions below return false if HDF5 or, with *failure = ENOMEM, memory fails.

// Adds a text attribute to an object; nothing if `text` is NULL.
bool sap_hdf5_attribute(hid_t object, const char* name, const char* text);

// Data sets do not store their time of creation: the same rows and flushes give the same bytes.
typedef enum sap_hdf5_number {
  SAP_HDF5_REAL,      // double
  SAP_HDF5_SHORT,     // float
  SAP_HDF5_INTEGER,   // int64
  SAP_HDF5_IDENTITY,  // int32
} sap_hdf5_number;

typedef struct sap_hdf5_table {
  const char* name;
  sap_hdf5_number number;
  int32_t width;  // values per row; 0: a one-dimensional data set
  const char *units, *columns;
} sap_hdf5_table;

// Writes a whole data set.
bool sap_hdf5_write_table(hid_t group, const sap_hdf5_table* table, int64_t rows,
                          const void* values);
// Writes a data set of texts of one length, that of the longest and a zero. (Texts of variable
// length would be in a heap of the file, on which HDF5 1.10 crashes when it is damaged.)
bool sap_hdf5_write_texts(hid_t group, const char* name, const char* units, int64_t count,
                          const char* (*text)(const void* context, int64_t index),
                          const void* context, int* failure);

// Compresses chunks of numbers as HDF5's filters "shuffle" and "deflate" do, without calls of HDF5,
// which receives finished chunks that every reader understands.
typedef struct sap_chunk_packer sap_chunk_packer;  // workspace; one per thread

// Creates a packer for chunks of at most `size` bytes at zlib's level 1 to 9. Returns NULL for lack
// of memory.
sap_chunk_packer* sap_chunk_packer_create(int32_t level, size_t size);
void sap_chunk_packer_destroy(sap_chunk_packer* packer);
// Returns the room that the compressed form of `size` bytes may need.
size_t sap_chunk_packer_bound(size_t size);
// Packs `count` values of `size` bytes (4 or 8) into `out`, which has room for the bound. Returns
// the packed length, or 0 if it is not below that of the values. Makes no heap call.
size_t sap_chunk_packer_pack(sap_chunk_packer* packer, const void* values, size_t count,
                             size_t size, unsigned char* out);

// A data set that grows by rows, and the chunk that is being filled.
typedef struct sap_hdf5_column {
  hid_t set;              // data set, -1: none
  size_t size;            // of a value [bytes]
  int32_t width;          // values per row
  int32_t capacity;       // rows of a chunk
  int32_t count;          // rows in the buffer
  int32_t stored;         // of these, rows that are in the file, as an uncompressed chunk
  int64_t start;          // row of the file at which the buffer begins
  unsigned char* buffer;  // (capacity x width x size); NULL: the column does not exist
} sap_hdf5_column;

// Creates an empty data set with chunks of `capacity` rows, for compression at zlib's level 1 to 9
// or none (0). Must be cleared, also after a failure.
bool sap_hdf5_column_create(hid_t file, const sap_hdf5_table* table, int32_t capacity,
                            int32_t compression, sap_hdf5_column* column, int* failure);
void sap_hdf5_column_clear(sap_hdf5_column* column);
// Returns the bytes of a chunk in memory.
size_t sap_hdf5_column_chunk_size(const sap_hdf5_column* column);
// Returns the place of the next row, for which the buffer must have room.
void* sap_hdf5_column_next(sap_hdf5_column* column);
// Writes the rows in the buffer that are not in the file. A full chunk leaves the buffer. A chunk
// that is full, or the `last` one, is compressed. Any other stays uncompressed in the file when it
// is completed: its rows in the file never move, so a kill between two flushes cannot lose them.
// packer: NULL without compression. scratch has room for the packer's bound of the chunk.
bool sap_hdf5_column_write(sap_hdf5_column* column, bool last, sap_chunk_packer* packer,
                           unsigned char* scratch);
