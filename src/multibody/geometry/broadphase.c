// SPDX-License-Identifier: BSD-3-Clause
#include "multibody/geometry/broadphase.h"

#include <math.h>
#include <string.h>

#include "multibody/geometry/shape.h"

// Fewer boxes form one cell; a box over more cells than this is tested against all boxes.
enum { ONE_CELL_BOXES = 48, LARGE_BOX_CELLS = 64, MAX_CELLS_PER_AXIS = 4096 };

static sap_status allocate_broadphase(sap_broadphase* bp, sap_error* error) {
  // There are at most as many cells as boxes (choose_cells). Boxes of one size touch 2.25 cells on
  // average, so steps of scattered scenes need no more room than this.
  const int32_t entries = bp->count < INT32_MAX / 4 ? 4 * bp->count : bp->count;
  SAP_TRY(SAP_POOL_ADD(&bp->pool, &bp->boxes, bp->count, error));
  SAP_TRY(SAP_POOL_ADD(&bp->pool, &bp->order, bp->count, error));
  SAP_TRY(SAP_POOL_ADD(&bp->pool, &bp->lower_x, bp->count, error));
  SAP_TRY(SAP_GROW(&bp->cell_start, &bp->cell_capacity, (int64_t)bp->count + 3, error));
  return SAP_GROW(&bp->entries, &bp->entry_capacity, entries, error);
}

sap_status sap_broadphase_create(sap_broadphase* broadphase, int32_t count, sap_error* error) {
  *broadphase = (sap_broadphase){.pool.owner = "bounding boxes", .count = count};
  SAP_TRY_OR(allocate_broadphase(broadphase, error), sap_broadphase_destroy(broadphase));
  for (int32_t i = 0; i < count; ++i) {
    broadphase->order[i] = i;
  }
  return SAP_STATUS_OK;
}

void sap_broadphase_destroy(sap_broadphase* broadphase) {
  sap_pool_free(&broadphase->pool);
  sap_free(broadphase->cell_start);
  sap_free(broadphase->entries);
  sap_free(broadphase->pairs);
  *broadphase = (sap_broadphase){0};
}

// Returns true if the box `a` with lower x comes after the box `b` with lower x `x_b`.
static bool comes_after(double x_a, int32_t a, double x_b, int32_t b) {
  return x_a > x_b || (x_a == x_b && a > b);
}

// Sorts the ranks `gap` apart by insertion; returns false, with part of them sorted, if that takes
// more than `moves`.
static bool sort_gap(sap_broadphase* bp, int32_t gap, int64_t moves) {
  for (int32_t r = gap; r < bp->count && moves >= 0; ++r) {
    const int32_t index = bp->order[r];
    const double x = bp->lower_x[r];
    int32_t at = r;
    for (; at >= gap && comes_after(bp->lower_x[at - gap], bp->order[at - gap], x, index);
         at -= gap) {
      bp->order[at] = bp->order[at - gap];
      bp->lower_x[at] = bp->lower_x[at - gap];
      --moves;
    }
    bp->order[at] = index;
    bp->lower_x[at] = x;
  }
  return moves >= 0;
}

// Sorts by lower x, ties by index: the result depends only on the boxes. The order of the last call
// is mostly almost sorted; else Shell sort (gaps of Ciura).
static void sort_boxes(sap_broadphase* bp) {
  static const int32_t gaps[] = {1750, 701, 301, 132, 57, 23, 10, 4, 1};
  for (int32_t r = 0; r < bp->count; ++r) {
    bp->lower_x[r] = bp->boxes[bp->order[r]].lower[0];
  }
  bool sorted = sort_gap(bp, 1, 16 * (int64_t)bp->count);
  for (size_t k = 0; !sorted && k < sizeof gaps / sizeof *gaps; ++k) {
    sorted = sort_gap(bp, gaps[k], INT64_MAX) && gaps[k] == 1;
  }
}

static void choose_cells(sap_broadphase* bp) {
  for (int axis = 0; axis < 2; ++axis) {
    double low = HUGE_VAL, high = -HUGE_VAL, width = 0.0;
    for (int32_t i = 0; i < bp->count; ++i) {
      const sap_aabb* box = &bp->boxes[i];
      low = sap_least(low, box->lower[axis + 1]);
      high = sap_most(high, box->upper[axis + 1]);
      width += box->upper[axis + 1] - box->lower[axis + 1];
    }
    // Twice the mean box, and at most as many cells as boxes.
    width = sap_most(2.0 * width / bp->count, (high - low) / sqrt((double)bp->count));
    const double cells = bp->count <= ONE_CELL_BOXES ? 1.0 : floor((high - low) / width);
    bp->cells[axis] = cells > 1.0 ? (int32_t)sap_least(cells, MAX_CELLS_PER_AXIS) : 1;
    bp->origin[axis] = low;
    bp->inverse_width[axis] = bp->cells[axis] > 1 ? bp->cells[axis] / (high - low) : 0.0;
  }
}

static int32_t cell_of(const sap_broadphase* bp, int axis, double x) {
  const double cell = (x - bp->origin[axis]) * bp->inverse_width[axis];
  return cell > 0.0 ? (int32_t)sap_least(cell, bp->cells[axis] - 1) : 0;
}

typedef struct cell_range {
  int32_t first[2], last[2];
  bool large;
} cell_range;

static cell_range cells_of(const sap_broadphase* bp, const sap_aabb* box) {
  cell_range range;
  int64_t total = 1;
  for (int axis = 0; axis < 2; ++axis) {
    range.first[axis] = cell_of(bp, axis, box->lower[axis + 1]);
    range.last[axis] = cell_of(bp, axis, box->upper[axis + 1]);
    total *= range.last[axis] - range.first[axis] + 1;
  }
  range.large = total > LARGE_BOX_CELLS;
  return range;
}

// Lists the ranks that touch each cell; the list after the last cell holds the large boxes.
static sap_status fill_cells(sap_broadphase* bp, sap_error* error) {
  choose_cells(bp);
  const int32_t cells = bp->cells[0] * bp->cells[1] + 1;
  SAP_TRY(SAP_GROW(&bp->cell_start, &bp->cell_capacity, cells + 2, error));
  int32_t* start = bp->cell_start;
  memset(start, 0, (size_t)(cells + 2) * sizeof *start);
  // The first pass counts into start[cell + 2]; the second fills and leaves start[cell] correct.
  for (int pass = 0; pass < 2; ++pass) {
    for (int32_t r = 0; r < bp->count; ++r) {
      const cell_range range = cells_of(bp, &bp->boxes[bp->order[r]]);
      for (int32_t z = range.first[1]; z <= range.last[1] && !range.large; ++z) {
        for (int32_t y = range.first[0]; y <= range.last[0]; ++y) {
          const int32_t cell = z * bp->cells[0] + y;
          if (pass == 0) {
            ++start[cell + 2];
          } else {
            bp->entries[start[cell + 1]++] = r;
          }
        }
      }
      if (range.large && pass == 0) {
        ++start[cells + 1];
      } else if (range.large) {
        bp->entries[start[cells]++] = r;
      }
    }
    if (pass == 0) {
      for (int32_t c = 2; c < cells + 2; ++c) {
        start[c] += start[c - 1];
      }
      SAP_TRY(SAP_GROW(&bp->entries, &bp->entry_capacity, start[cells + 1], error));
    }
  }
  return SAP_STATUS_OK;
}

typedef struct search {
  sap_broadphase* bp;
  sap_broadphase_accept* accept;
  const void* context;
  sap_error* error;
} search;

static sap_status add_pair(const search* s, int32_t a, int32_t b) {
  if (!s->accept(s->context, a, b)) {
    return SAP_STATUS_OK;
  }
  sap_broadphase* bp = s->bp;
  if (bp->pair_count >= bp->pair_capacity) {
    const int32_t needed = bp->pair_count < INT32_MAX ? bp->pair_count + 1 : -1;
    SAP_TRY(SAP_GROW(&bp->pairs, &bp->pair_capacity, needed, s->error));
  }
  const uint64_t low = (uint64_t)(a < b ? a : b), high = (uint64_t)(a < b ? b : a);
  bp->pairs[bp->pair_count++] = low << 32 | high;
  return SAP_STATUS_OK;
}

static sap_status test_cell(const search* s, int32_t cell) {
  sap_broadphase* bp = s->bp;
  const int32_t first = bp->cell_start[cell], end = bp->cell_start[cell + 1];
  const bool only = bp->cells[0] * bp->cells[1] == 1;
  for (int32_t i = first; i < end; ++i) {
    const int32_t a = bp->order[bp->entries[i]];
    const sap_aabb* box_a = &bp->boxes[a];
    for (int32_t j = i + 1; j < end && bp->lower_x[bp->entries[j]] <= box_a->upper[0]; ++j) {
      const int32_t b = bp->order[bp->entries[j]];
      const sap_aabb* box_b = &bp->boxes[b];
      if (!sap_aabb_overlap(box_a, box_b)) {
        continue;
      }
      const int32_t y = cell_of(bp, 0, sap_most(box_a->lower[1], box_b->lower[1]));
      const int32_t z = cell_of(bp, 1, sap_most(box_a->lower[2], box_b->lower[2]));
      if (only || z * bp->cells[0] + y == cell) {
        SAP_TRY(add_pair(s, a, b));
      }
    }
  }
  return SAP_STATUS_OK;
}

// Tests large boxes against all others, each pair of large ones once.
static sap_status test_large(const search* s) {
  sap_broadphase* bp = s->bp;
  const int32_t cells = bp->cells[0] * bp->cells[1];
  for (int32_t i = bp->cell_start[cells]; i < bp->cell_start[cells + 1]; ++i) {
    const int32_t rank = bp->entries[i];
    const int32_t a = bp->order[rank];
    for (int32_t r = 0; r < bp->count && bp->lower_x[r] <= bp->boxes[a].upper[0]; ++r) {
      const int32_t b = bp->order[r];
      if (r == rank || !sap_aabb_overlap(&bp->boxes[a], &bp->boxes[b]) ||
          (r < rank && cells_of(bp, &bp->boxes[b]).large)) {
        continue;
      }
      SAP_TRY(add_pair(s, a, b));
    }
  }
  return SAP_STATUS_OK;
}

sap_status sap_broadphase_find(sap_broadphase* broadphase, sap_broadphase_accept* accept,
                               const void* context, sap_error* error) {
  sap_broadphase* bp = broadphase;
  bp->pair_count = 0;
  if (bp->count == 0) {
    return SAP_STATUS_OK;
  }
  sort_boxes(bp);
  const search s = {.bp = bp, .accept = accept, .context = context, .error = error};
  sap_status status = fill_cells(bp, error);
  const int32_t cells = status == SAP_STATUS_OK ? bp->cells[0] * bp->cells[1] : 0;
  for (int32_t cell = 0; status == SAP_STATUS_OK && cell < cells; ++cell) {
    status = test_cell(&s, cell);
  }
  if (status == SAP_STATUS_OK) {
    status = test_large(&s);
  }
  return status;
}

// --- radix sort ---

enum { FEW = 40, DIGIT_BITS = 8, DIGIT_VALUES = 1 << DIGIT_BITS };

static void sort_few(uint64_t* keys, int32_t count) {
  for (int32_t i = 1; i < count; ++i) {
    const uint64_t key = keys[i];
    int32_t j = i;
    for (; j > 0 && keys[j - 1] > key; --j) {
      keys[j] = keys[j - 1];
    }
    keys[j] = key;
  }
}

// Sorts by one digit from one array to the other; stable.
static void sort_digit(const uint64_t* from, uint64_t* to, int32_t count, int shift) {
  int32_t start[DIGIT_VALUES + 1] = {0};
  for (int32_t i = 0; i < count; ++i) {
    ++start[(from[i] >> shift & (DIGIT_VALUES - 1)) + 1];
  }
  for (int32_t k = 0; k < DIGIT_VALUES; ++k) {
    start[k + 1] += start[k];
  }
  for (int32_t i = 0; i < count; ++i) {
    to[start[from[i] >> shift & (DIGIT_VALUES - 1)]++] = from[i];
  }
}

void sap_sort_keys(uint64_t* keys, int32_t count, uint64_t* scratch) {
  if (count <= FEW) {
    sort_few(keys, count);
    return;
  }
  uint64_t differ = 0;
  for (int32_t i = 1; i < count; ++i) {
    differ |= keys[i] ^ keys[0];
  }
  uint64_t *from = keys, *to = scratch;
  for (int shift = 0; shift < 64; shift += DIGIT_BITS) {
    if ((differ >> shift & (DIGIT_VALUES - 1)) == 0) {
      continue;  // all keys have the same digit here
    }
    sort_digit(from, to, count, shift);
    uint64_t* const swap = from;
    from = to;
    to = swap;
  }
  if (from != keys) {
    memcpy(keys, from, (size_t)count * sizeof *keys);
  }
}
