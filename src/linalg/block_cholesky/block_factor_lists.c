// SPDX-License-Identifier: BSD-3-Clause
// What the numeric factorization runs through: each supernode's updates, and the tiles of A that go
// to its panel.
// cost: O(blocks of L).
#include <string.h>

#include "core/memory.h"
#include "linalg/block_cholesky/block_factor.h"

// Counts the updates, or places them: those of a supernode come out by ascending source.
static void each_update(sap_block_factor* f, bool placing) {
  f->lane_work = 0;
  for (int32_t source = 0; source < f->nsuper; ++source) {
    const int32_t* rows = f->row + f->row_start[source];
    const int32_t height = f->row_start[source + 1] - f->row_start[source];
    int32_t first = f->super_first[source + 1] - f->super_first[source];
    while (first < height) {
      const int32_t target = f->super_of[rows[first]];
      int32_t end = first + 1;
      while (end < height && f->super_of[rows[end]] == target) {
        ++end;
      }
      if (placing) {
        f->update[f->update_start[target + 1]++] = (sap_block_update){source, first, end};
      } else {
        ++f->update_start[target + 2];
      }
      first = end;
    }
    int32_t column = 0;
    for (int32_t r = 0; r < height; ++r) {
      const int32_t size = f->chunk_size[rows[r]];
      f->lane_work +=
          (double)size * (double)(height - r) *
          (double)(column < f->super_width[source] ? column + size / 2 : f->super_width[source]);
      column += size;
    }
  }
}

sap_status sap_block_factor_list_updates(sap_block_factor* f, sap_error* error) {
  memset(f->update_start, 0, ((size_t)f->nsuper + 2) * sizeof *f->update_start);
  each_update(f, false);
  for (int32_t s = 0; s <= f->nsuper; ++s) {
    f->update_start[s + 1] += f->update_start[s];
  }
  const sap_status status =
      SAP_GROW(&f->update, &f->update_capacity, f->update_start[f->nsuper + 1], error);
  if (status == SAP_STATUS_OK) {
    each_update(f, true);
  }
  return status;
}

// The tiles of one permuted block entry in the column of `chunk`.
static int32_t append_loads(sap_block_factor* f, const sap_pattern_copy* pattern,
                            const sap_block_order* order, int32_t k, int32_t chunk, int32_t count) {
  const int32_t entry = order->entry[k];
  const int32_t position = order->row[k];
  const int32_t block = order->block_at[position];
  const bool transposed = block != pattern->row[entry];
  const int32_t ld = pattern->sizes[pattern->row[entry]];
  const int32_t column = f->chunk_scalar[chunk] - pattern->offset[f->chunk_block[chunk]];
  const int32_t s = f->super_of[chunk];
  for (int32_t tile = f->chunk_first[position]; tile < f->chunk_first[position + 1]; ++tile) {
    if (tile < chunk) {
      continue;  // upper triangle of a large diagonal block
    }
    sap_block_load* load = &f->load[count++];
    const int32_t row = f->chunk_scalar[tile] - pattern->offset[block];
    load->row_stride = transposed ? ld : 1;
    load->column_stride = transposed ? 1 : ld;
    load->rows = (int16_t)f->chunk_size[tile];
    load->columns = (int16_t)f->chunk_size[chunk];
    load->source = pattern->view.value_start[entry] + (size_t)row * (size_t)load->row_stride +
                   (size_t)column * (size_t)load->column_stride;
    load->target =
        f->panel_start[s] + (size_t)SAP_LANES * ((size_t)f->mark[tile] * (size_t)f->super_width[s] +
                                                 (size_t)f->chunk_column[chunk]);
  }
  return count;
}

sap_status sap_block_factor_list_loads(sap_block_factor* f, const sap_pattern_copy* pattern,
                                       const sap_block_order* order, sap_error* error) {
  int64_t tiles = 0;
  for (int32_t p = 0; p < order->nblocks; ++p) {
    for (int32_t k = order->column_start[p]; k < order->column_start[p + 1]; ++k) {
      const int64_t rows = f->chunk_first[order->row[k] + 1] - f->chunk_first[order->row[k]];
      tiles += rows * (f->chunk_first[p + 1] - f->chunk_first[p]);
    }
  }
  if (tiles > INT32_MAX / 2) {
    return sap_fail(error, SAP_STATUS_MEMORY, "block matrix of %d chunks is too large",
                    (int)f->nchunks);
  }
  const sap_status status = SAP_GROW(&f->load, &f->load_capacity, (int32_t)tiles, error);
  if (status != SAP_STATUS_OK) {
    return status;
  }
  int32_t count = 0;
  int32_t p = 0;  // position of the block that holds the chunk
  for (int32_t s = 0; s < f->nsuper; ++s) {
    f->load_start[s] = count;
    for (int32_t r = f->row_start[s]; r < f->row_start[s + 1]; ++r) {
      f->mark[f->row[r]] = r - f->row_start[s];
    }
    for (int32_t chunk = f->super_first[s]; chunk < f->super_first[s + 1]; ++chunk) {
      while (f->chunk_first[p + 1] <= chunk) {
        ++p;
      }
      for (int32_t k = order->column_start[p]; k < order->column_start[p + 1]; ++k) {
        count = append_loads(f, pattern, order, k, chunk, count);
      }
    }
  }
  f->load_start[f->nsuper] = count;
  return SAP_STATUS_OK;
}
