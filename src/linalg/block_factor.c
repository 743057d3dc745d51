// SPDX-License-Identifier: BSD-3-Clause
// Symbolic factorization: elimination tree and column counts by walking up the tree from every
// entry of a row, supernodes from the counts, then their rows.
// cost: O(blocks of L).
#include "linalg/block_factor.h"

#include <string.h>

static sap_status reserve_chunks(sap_block_factor* f, int32_t nblocks, int32_t n,
                                 sap_error* error) {
  return SAP_ROOM_ALL(
      &f->pool, error, SAP_ARRAY(&f->chunk_first, nblocks + 1), SAP_ARRAY(&f->chunk_size, n),
      SAP_ARRAY(&f->chunk_block, n), SAP_ARRAY(&f->chunk_scalar, n), SAP_ARRAY(&f->chunk_column, n),
      SAP_ARRAY(&f->super_of, n), SAP_ARRAY(&f->parent, n), SAP_ARRAY(&f->count, n),
      SAP_ARRAY(&f->mark, n), SAP_ARRAY(&f->super_first, n + 1), SAP_ARRAY(&f->super_width, n),
      SAP_ARRAY(&f->row_start, n + 2), SAP_ARRAY(&f->panel_start, n + 1),
      SAP_ARRAY(&f->update_start, n + 2), SAP_ARRAY(&f->load_start, n + 1),
      SAP_ARRAY(&f->inverse, SAP_CHUNK * n), SAP_ARRAY(&f->work, 2 * SAP_CHUNK * n));
}

static sap_status make_chunks(sap_block_factor* f, const sap_pattern_copy* pattern,
                              const sap_block_order* order, sap_error* error) {
  int32_t n = 0;
  for (int32_t k = 0; k < order->nblocks; ++k) {
    n += (pattern->sizes[k] + SAP_CHUNK - 1) / SAP_CHUNK;
  }
  SAP_TRY(reserve_chunks(f, order->nblocks, n, error));
  f->nchunks = n;
  int32_t chunk = 0;
  for (int32_t k = 0; k < order->nblocks; ++k) {
    const int32_t block = order->block_at[k];
    f->chunk_first[k] = chunk;
    for (int32_t r = 0; r < pattern->sizes[block]; r += SAP_CHUNK) {
      const int32_t rest = pattern->sizes[block] - r;
      f->chunk_size[chunk] = rest < SAP_CHUNK ? rest : SAP_CHUNK;
      f->chunk_block[chunk] = block;
      f->chunk_scalar[chunk++] = pattern->offset[block] + r;
    }
  }
  f->chunk_first[order->nblocks] = chunk;
  return SAP_STATUS_OK;
}

// Walks up the tree from an entry of A in row `chunk`. Row `chunk` of L consists of the paths from
// its entries in A up to itself. The chunks of a block are consecutive on a path, so that the walk
// starts at the first.
// counting: sets parent and count; else: appends the row to the supernodes whose last chunk is on
// the path, at row_start[s + 1].
static void walk(sap_block_factor* f, int32_t start, int32_t chunk, bool counting) {
  for (int32_t k = start; f->mark[k] != chunk; k = f->parent[k]) {
    f->mark[k] = chunk;
    if (counting) {
      if (f->parent[k] < 0) {
        f->parent[k] = chunk;
      }
      ++f->count[k];
    } else {
      const int32_t s = f->super_of[k];
      if (k == f->super_first[s + 1] - 1) {
        f->row[f->row_start[s + 1]++] = chunk;
      }
    }
  }
}

static void walk_rows(sap_block_factor* f, const sap_block_order* order, bool counting) {
  for (int32_t k = 0; k < f->nchunks; ++k) {
    f->mark[k] = -1;
    if (counting) {
      f->parent[k] = -1;
      f->count[k] = 0;
    }
  }
  for (int32_t p = 0; p < order->nblocks; ++p) {
    for (int32_t chunk = f->chunk_first[p]; chunk < f->chunk_first[p + 1]; ++chunk) {
      f->mark[chunk] = chunk;
      walk(f, f->chunk_first[p], chunk, counting);
      for (int32_t k = order->by_row_start[p]; k < order->by_row_start[p + 1]; ++k) {
        walk(f, f->chunk_first[order->by_row_column[k]], chunk, counting);
      }
    }
  }
}

// A supernode may join its parent if that follows it: this stores zeros, which cost arithmetic, and
// saves short loops. Bounds on the share of zeros among all tiles of the joined supernode, measured
// with sapstep_bench_cholesky.
static const double join_zeros_narrow = 0.2;
static const double join_zeros_wide = 0.05;
enum {
  JOIN_NARROW = 4,  // chunk columns
  JOIN_MOST = 16    // so that a panel of a thousand rows stays in a core's cache
};

// Returns the number of zero tiles if the supernodes [first, middle) and [middle, end) join, -1 if
// they should not.
// before: zero tiles that the two store already.
static int32_t join(const sap_block_factor* f, int32_t first, int32_t middle, int32_t end,
                    int32_t before) {
  const int32_t below = f->count[end - 1];
  const int32_t width = end - first;
  const int32_t tiles = width * (width + 1) / 2 + width * below;
  const int32_t zeros = before + (middle - first) * (end - middle + below - f->count[middle - 1]);
  if (width > JOIN_MOST) {
    return -1;
  }
  const double bound = width <= JOIN_NARROW ? join_zeros_narrow : join_zeros_wide;
  return zeros == before || (double)zeros <= bound * (double)tiles ? zeros : -1;
}

static void find_supernodes(sap_block_factor* f) {
  int32_t* first = f->super_first;
  int32_t* zeros = f->mark;  // free until the next walk
  int32_t count = 0;
  for (int32_t k = 0; k < f->nchunks; ++k) {
    first[count] = k;
    zeros[count++] = 0;
    while (count > 1 && f->parent[first[count - 1] - 1] == first[count - 1]) {
      const int32_t joined =
          join(f, first[count - 2], first[count - 1], k + 1, zeros[count - 2] + zeros[count - 1]);
      if (joined < 0) {
        break;
      }
      zeros[--count - 1] = joined;
    }
  }
  first[count] = f->nchunks;
  f->nsuper = count;
  for (int32_t s = 0; s < count; ++s) {
    f->super_width[s] = 0;
    for (int32_t k = first[s]; k < first[s + 1]; ++k) {
      f->super_of[k] = s;
      f->chunk_column[k] = f->super_width[s];
      f->super_width[s] += f->chunk_size[k];
    }
  }
}

static sap_status make_rows(sap_block_factor* f, const sap_block_order* order, sap_error* error) {
  int64_t rows = 0;
  size_t values = 0;
  for (int32_t s = 0; s < f->nsuper; ++s) {
    const int32_t own = f->super_first[s + 1] - f->super_first[s];
    const int32_t height = own + f->count[f->super_first[s + 1] - 1];
    f->row_start[s + 1] = (int32_t)rows;  // walk appends here; ends as the end of the rows
    f->panel_start[s] = values;
    rows += height;
    values += (size_t)SAP_CHUNK * (size_t)height * (size_t)f->super_width[s];
    SAP_FAIL_IF(rows > INT32_MAX / 2 || values > INT32_MAX / 2, error, SAP_STATUS_MEMORY,
                "block factor of %d chunks is too large", (int)f->nchunks);
  }
  f->row_start[0] = 0;
  f->panel_start[f->nsuper] = values;
  SAP_TRY(SAP_ROOM(&f->pool, &f->row, (int32_t)rows, error));
  for (int32_t s = 0; s < f->nsuper; ++s) {
    for (int32_t k = f->super_first[s]; k < f->super_first[s + 1]; ++k) {
      f->row[f->row_start[s + 1]++] = k;
    }
  }
  walk_rows(f, order, false);
  return SAP_STATUS_OK;
}

// Counts the updates, or places them, for each supernode by ascending source.
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

static sap_status list_updates(sap_block_factor* f, sap_error* error) {
  memset(f->update_start, 0, ((size_t)f->nsuper + 2) * sizeof *f->update_start);
  each_update(f, false);
  for (int32_t s = 0; s <= f->nsuper; ++s) {
    f->update_start[s + 1] += f->update_start[s];
  }
  SAP_TRY(SAP_ROOM(&f->pool, &f->update, f->update_start[f->nsuper + 1], error));
  each_update(f, true);
  return SAP_STATUS_OK;
}

// Appends the tiles of one permuted block entry in the column of `chunk`. Returns the new count.
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
        f->panel_start[s] + (size_t)SAP_CHUNK * ((size_t)f->mark[tile] * (size_t)f->super_width[s] +
                                                 (size_t)f->chunk_column[chunk]);
  }
  return count;
}

static sap_status list_loads(sap_block_factor* f, const sap_pattern_copy* pattern,
                             const sap_block_order* order, sap_error* error) {
  int64_t tiles = 0;
  for (int32_t p = 0; p < order->nblocks; ++p) {
    for (int32_t k = order->column_start[p]; k < order->column_start[p + 1]; ++k) {
      const int64_t rows = f->chunk_first[order->row[k] + 1] - f->chunk_first[order->row[k]];
      tiles += rows * (f->chunk_first[p + 1] - f->chunk_first[p]);
    }
  }
  SAP_FAIL_IF(tiles > INT32_MAX / 2, error, SAP_STATUS_MEMORY,
              "block matrix of %d chunks is too large", (int)f->nchunks);
  SAP_TRY(SAP_ROOM(&f->pool, &f->load, (int32_t)tiles, error));
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

sap_status sap_block_factor_analyze(sap_block_factor* factor, const sap_pattern_copy* pattern,
                                    const sap_block_order* order, sap_error* error) {
  SAP_TRY(make_chunks(factor, pattern, order, error));
  walk_rows(factor, order, true);
  find_supernodes(factor);
  SAP_TRY(make_rows(factor, order, error));
  SAP_TRY(list_updates(factor, error));
  return list_loads(factor, pattern, order, error);
}

// 512-bit instructions slow the processor down for about 0.7 ms, and all code that runs then:
// stepping forty falling bodies takes a tenth less time without them.
const sap_block_kernels* sap_block_kernels_for(double lane_work) {
  const sap_block_kernels* fastest = sap_block_kernels_get(0);
  return strcmp(fastest->name, "avx512") == 0 && lane_work / fastest->rate < 0.7e-3
             ? sap_block_kernels_get(1)
             : fastest;
}
