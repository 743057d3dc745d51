// SPDX-License-Identifier: BSD-3-Clause
#include "linalg/schwarz.h"

#include <string.h>

#include "core/kernels.h"

// Blocks of a part. Measured on heaps and stacks of up to 10 000 bodies: 80 takes more iterations,
// 320 more time for each.
enum { PART_BLOCKS = 160 };

void sap_schwarz_clear(sap_schwarz* schwarz) {
  for (int32_t p = 0; p < schwarz->capacity; ++p) {
    sap_block_factor_clear(&schwarz->factors[p]);
  }
  sap_free(schwarz->factors);
  sap_pool_free(&schwarz->pool);
  *schwarz = (sap_schwarz){0};
}

// Lists the neighbours of each block, in both triangles.
static sap_status find_adjacent(sap_schwarz* s, const sap_block_pattern* pattern,
                                sap_error* error) {
  const int32_t n = pattern->nblocks, count = 2 * (pattern->column_start[n] - n);
  SAP_TRY(SAP_ROOM_ALL(&s->pool, error, SAP_ARRAY(&s->adjacent_start, n + 2),
                       SAP_ARRAY(&s->adjacent, 2 * (int64_t)count), SAP_ARRAY(&s->owner, n),
                       SAP_ARRAY(&s->mark, n), SAP_ARRAY(&s->local, n)));
  sap_block_pair* next = s->adjacent + count;
  for (int32_t j = 0; j < n; ++j) {
    for (int32_t k = pattern->column_start[j] + 1; k < pattern->column_start[j + 1]; ++k) {
      *next++ = (sap_block_pair){j, pattern->row[k], k};
      *next++ = (sap_block_pair){pattern->row[k], j, k};
    }
  }
  sap_sort_pairs(s->adjacent + count, s->adjacent, count, false, n, s->adjacent_start);
  return SAP_STATUS_OK;
}

// Collects free blocks around `seed` for a part by breadth-first search. A fragment of less than a
// quarter joins the part of a neighbour.
static void grow_part(sap_schwarz* s, int32_t seed) {
  int32_t *queue = s->mark, count = 1, neighbour = -1;
  queue[0] = seed;
  s->owner[seed] = s->nparts;
  for (int32_t i = 0; i < count; ++i) {
    for (int32_t k = s->adjacent_start[queue[i]]; k < s->adjacent_start[queue[i] + 1]; ++k) {
      const int32_t block = s->adjacent[k].column;
      if (s->owner[block] < 0 && count < PART_BLOCKS) {
        s->owner[block] = s->nparts;
        queue[count++] = block;
      } else if (s->owner[block] >= 0 && s->owner[block] != s->nparts) {
        neighbour = s->owner[block];
      }
    }
  }
  const bool joins = 4 * count < PART_BLOCKS && neighbour >= 0;
  for (int32_t i = 0; joins && i < count; ++i) {
    s->owner[queue[i]] = neighbour;
  }
  s->nparts += joins ? 0 : 1;
}

// Lists the blocks of each part with its layer.
static sap_status list_members(sap_schwarz* s, int32_t nblocks, sap_error* error) {
  const int64_t most = (int64_t)nblocks + s->adjacent_start[nblocks];
  SAP_TRY(SAP_ROOM(&s->pool, &s->part_start, s->nparts + 2, error));
  SAP_TRY(SAP_ROOM(&s->pool, &s->member, 2 * most, error));
  sap_block_pair *listed = s->member + most, *next = listed;
  for (int32_t p = 0; p < s->nparts; ++p) {
    s->mark[p] = -1;
  }
  for (int32_t b = 0; b < nblocks; ++b) {
    for (int32_t k = s->adjacent_start[b] - 1; k < s->adjacent_start[b + 1]; ++k) {
      const int32_t part = s->owner[k < s->adjacent_start[b] ? b : s->adjacent[k].column];
      if (s->mark[part] != b) {
        s->mark[part] = b;
        *next++ = (sap_block_pair){part, 0, b};
      }
    }
  }
  sap_sort_pairs(listed, s->member, (int32_t)(next - listed), false, s->nparts, s->part_start);
  return SAP_STATUS_OK;
}

static sap_status make_parts(sap_schwarz* s, int32_t nblocks, sap_error* error) {
  s->nparts = 0;
  for (int32_t b = 0; b < nblocks; ++b) {
    s->owner[b] = -1;
  }
  for (int32_t b = 0; b < nblocks; ++b) {
    if (s->owner[b] < 0) {
      grow_part(s, b);
    }
  }
  return list_members(s, nblocks, error);
}

// The pattern of one part; its entries' values are those of the whole matrix.
typedef struct part_pattern {
  sap_pool pool;
  int32_t *sizes, *column_start, *row;
  size_t* value_start;
  sap_pattern_copy copy;
  sap_block_order order;
} part_pattern;

// Marks the members of a part: local is the block's first scalar in it, -1 of other blocks. Returns
// the number of scalars.
static int32_t mark_members(sap_schwarz* s, const sap_pattern_copy* pattern, int32_t p) {
  int32_t n = 0;
  for (int32_t m = s->part_start[p]; m < s->part_start[p + 1]; ++m) {
    s->local[s->member[m].index] = n;
    s->mark[s->member[m].index] = m - s->part_start[p];
    n += pattern->sizes[s->member[m].index];
  }
  return n;
}

static sap_status analyze_part(sap_schwarz* s, const sap_pattern_copy* pattern, int32_t p,
                               part_pattern* part, sap_error* error) {
  const int32_t first = s->part_start[p], count = s->part_start[p + 1] - first;
  int32_t entries = 0;
  for (int32_t m = 0; m < count; ++m) {
    const int32_t j = s->member[first + m].index;
    entries += pattern->column_start[j + 1] - pattern->column_start[j];
  }
  SAP_TRY(SAP_ROOM_ALL(&part->pool, error, SAP_ARRAY(&part->sizes, count),
                       SAP_ARRAY(&part->column_start, count + 1), SAP_ARRAY(&part->row, entries),
                       SAP_ARRAY(&part->value_start, entries)));
  entries = 0;
  for (int32_t m = 0; m < count; ++m) {
    const int32_t j = s->member[first + m].index;
    part->sizes[m] = pattern->sizes[j];
    part->column_start[m] = entries;
    for (int32_t k = pattern->column_start[j]; k < pattern->column_start[j + 1]; ++k) {
      if (s->local[pattern->row[k]] >= 0) {
        part->row[entries] = s->mark[pattern->row[k]];
        part->value_start[entries++] = pattern->value_start[k];
      }
    }
  }
  part->column_start[count] = entries;
  const sap_block_pattern view = {count, part->sizes, part->column_start, part->row,
                                  part->value_start};
  SAP_TRY(sap_pattern_assign(&part->copy, &view, error));
  SAP_TRY(sap_block_order_compute(&part->order, &part->copy.view, error));
  SAP_TRY(sap_block_factor_analyze(&s->factors[p], &part->copy, &part->order, error));
  return sap_block_factor_reserve(&s->factors[p], error);
}

static sap_status list_links(sap_schwarz* s, const sap_pattern_copy* pattern, int32_t p,
                             sap_error* error) {
  int32_t count = s->link_start[p];
  for (int32_t m = s->part_start[p]; m < s->part_start[p + 1]; ++m) {
    const int32_t j = s->member[m].index;
    const int32_t most = count + s->adjacent_start[j + 1] - s->adjacent_start[j];
    SAP_TRY(SAP_ROOM(&s->pool, &s->links, most, error));
    for (int32_t k = s->adjacent_start[j]; k < s->adjacent_start[j + 1]; ++k) {
      const int32_t i = s->adjacent[k].column;
      if (s->local[i] < 0) {
        s->links[count++] = (sap_schwarz_link){.from = s->local[j],
                                               .to = pattern->offset[i],
                                               .columns = pattern->sizes[j],
                                               .rows = pattern->sizes[i],
                                               .transposed = i < j,
                                               .value = pattern->value_start[s->adjacent[k].index]};
      }
    }
  }
  s->link_start[p + 1] = count;
  return SAP_STATUS_OK;
}

static sap_status analyze_parts(sap_schwarz* s, const sap_pattern_copy* pattern, part_pattern* part,
                                sap_error* error) {
  int32_t largest = 0;
  s->touched = 0.0;
  s->link_start[0] = 0;
  for (int32_t b = 0; b < pattern->view.nblocks; ++b) {
    s->local[b] = -1;
  }
  for (int32_t p = 0; p < s->nparts; ++p) {
    const int32_t n = mark_members(s, pattern, p);
    largest = n > largest ? n : largest;
    SAP_TRY(analyze_part(s, pattern, p, part, error));
    SAP_TRY(list_links(s, pattern, p, error));
    for (int32_t m = s->part_start[p]; m < s->part_start[p + 1]; ++m) {
      s->local[s->member[m].index] = -1;
    }
    const sap_block_factor* f = &s->factors[p];
    const double links = s->link_start[p + 1] - s->link_start[p];
    s->touched += 4.0 * (double)f->panel_start[f->nsuper] + 4.0 * 36.0 * links;
  }
  return SAP_ROOM(&s->pool, &s->part_vector, largest, error);
}

sap_status sap_schwarz_analyze(sap_schwarz* s, const sap_pattern_copy* pattern, sap_error* error) {
  part_pattern part = {.pool = {.owner = "parts of a matrix"}};
  SAP_TRY(find_adjacent(s, &pattern->view, error));
  SAP_TRY(make_parts(s, pattern->view.nblocks, error));
  SAP_TRY(SAP_ROOM(&s->pool, &s->link_start, s->nparts + 1, error));
  SAP_TRY(SAP_GROW(&s->factors, &s->capacity, s->nparts, error));
  const sap_status status = analyze_parts(s, pattern, &part, error);
  sap_pool_free(&part.pool);
  sap_pattern_clear(&part.copy);
  sap_block_order_clear(&part.order);
  return status;
}

bool sap_schwarz_factorize(sap_schwarz* s, const double* values) {
  const sap_block_kernels* kernels = sap_block_kernels_single_get(0);
  for (int32_t p = 0; p < s->nparts; ++p) {
    if (kernels->factorize(&s->factors[p], values) >= 0) {
      return false;
    }
  }
  return true;
}

// y -= B x, B column-major
static SAP_INLINE void subtract_product(int32_t rows, int32_t columns, const double* restrict B,
                                        const double* restrict x, double* restrict y) {
  for (int32_t c = 0; c < columns; ++c) {
    for (int32_t r = 0; r < rows; ++r) {
      y[r] -= B[c * rows + r] * x[c];
    }
  }
}

// y -= B' x, B column-major with `rows` columns
static SAP_INLINE void subtract_transposed(int32_t rows, int32_t columns, const double* restrict B,
                                           const double* restrict x, double* restrict y) {
  for (int32_t r = 0; r < rows; ++r) {
    double sum = 0.0;
    for (int32_t c = 0; c < columns; ++c) {
      sum += B[r * columns + c] * x[c];
    }
    y[r] -= sum;
  }
}

static void subtract_link(const sap_schwarz_link* link, const double* B, const double* x,
                          double* y) {
  const int32_t rows = link->rows, columns = link->columns;
  if (rows == 6 && columns == 6) {  // two free bodies
    if (link->transposed) {
      subtract_transposed(6, 6, B, x, y);
    } else {
      subtract_product(6, 6, B, x, y);
    }
  } else if (link->transposed) {
    subtract_transposed(rows, columns, B, x, y);
  } else {
    subtract_product(rows, columns, B, x, y);
  }
}

// z_p += A_pp^-1 r_p; r -= A times the change. Within the part r is zero then, but for the rounding
// of the factor, which is left out.
static void apply_part(const sap_schwarz* s, const sap_pattern_copy* pattern, const double* values,
                       int32_t p, double* r, double* z) {
  double* x = s->part_vector;
  int32_t at = 0;
  for (int32_t m = s->part_start[p]; m < s->part_start[p + 1]; ++m) {
    const int32_t b = s->member[m].index;
    double* from = r + pattern->offset[b];
    for (int32_t i = 0; i < pattern->sizes[b]; ++i) {  // few: no memcpy
      x[at++] = from[i];
      from[i] = 0.0;
    }
  }
  sap_block_kernels_single_get(0)->solve(&s->factors[p], x);
  at = 0;
  for (int32_t m = s->part_start[p]; m < s->part_start[p + 1]; ++m) {
    const int32_t b = s->member[m].index;
    for (int32_t i = 0; i < pattern->sizes[b]; ++i) {
      z[pattern->offset[b] + i] += x[at++];
    }
  }
  for (int32_t k = s->link_start[p]; k < s->link_start[p + 1]; ++k) {
    const sap_schwarz_link* link = &s->links[k];
    subtract_link(link, values + link->value, x + link->from, r + link->to);
  }
}

void sap_schwarz_apply(const sap_schwarz* s, const sap_pattern_copy* pattern, const double* values,
                       double* r, double* z) {
  memset(z, 0, (size_t)pattern->n * sizeof *z);
  for (int32_t p = 0; p < s->nparts; ++p) {
    apply_part(s, pattern, values, p, r, z);
  }
  for (int32_t p = s->nparts - 1; p-- > 0;) {
    apply_part(s, pattern, values, p, r, z);
  }
}
