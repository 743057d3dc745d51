// SPDX-License-Identifier: BSD-3-Clause
// Left-looking supernodal block Cholesky on the storage of block_factor.h. The including file
// defines SAP_KERNELS_NAME and SAP_KERNELS_TABLE and is compiled with its set's flags.
//   C_rq -= sum over earlier columns  L_r L_q^T,   L_qq = chol(C_qq),   L_rq = C_rq L_qq^-T
// cost: factor.lane_work multiply-adds of a whole lane.  fails: a pivot that is not in (0,
// DBL_MAX]; a NaN or an infinity anywhere in A always ends in one.
#include <float.h>
#include <math.h>
#include <string.h>

#include "linalg/block_kernels_sets.h"
#include "linalg/block_lanes.h"

enum { LANES = SAP_LANES };

// C_r -= A_r B^T for `count` row chunks: r-th chunk of A changes the chunk of C that stands at
// place[row[r]] in its panel.
typedef struct update_job {
  double* c;        // the changed columns of the panel's first chunk
  size_t c_stride;  // from chunk to chunk
  const double* a;
  size_t a_stride;
  const double* b;  // chunk whose rows are the columns of C
  const int32_t* row;
  const int32_t* place;
  int32_t count, depth;
} update_job;

// `columns` and `chunks` are constants wherever this is inlined: the tile stays in registers.
static inline void update_tile(const update_job* job, int32_t r, int32_t first, int columns,
                               int chunks) {
  lanes sum[TILE_ROWS][TILE_COLUMNS];
  double* c[TILE_ROWS];
  const double* a = job->a + (size_t)r * job->a_stride;
  const double* b = job->b + first;
  for (int i = 0; i < chunks; ++i) {
    c[i] = job->c + (size_t)job->place[job->row[r + i]] * job->c_stride + LANES * first;
    for (int j = 0; j < columns; ++j) {
      sum[i][j] = lanes_load(c[i] + LANES * j);
    }
  }
  for (int32_t k = 0; k < job->depth; ++k) {
    for (int i = 0; i < chunks; ++i) {
      const lanes x = lanes_load(a + (size_t)i * job->a_stride + LANES * k);
      for (int j = 0; j < columns; ++j) {
        sum[i][j] = lanes_subtract(sum[i][j], x, b[LANES * k + j]);
      }
    }
  }
  for (int i = 0; i < chunks; ++i) {
    for (int j = 0; j < columns; ++j) {
      lanes_store(c[i] + LANES * j, sum[i][j]);
    }
  }
}

static inline void update_rows(const update_job* job, int32_t first, int columns) {
  int32_t r = 0;
  for (; r + TILE_ROWS <= job->count; r += TILE_ROWS) {
    update_tile(job, r, first, columns, TILE_ROWS);
  }
  for (; r < job->count; ++r) {
    update_tile(job, r, first, columns, 1);
  }
}

static void update(const update_job* job, int32_t columns) {
  for (int32_t first = 0; first < columns; first += TILE_COLUMNS) {
    const int32_t rest = columns - first;
    switch (rest) {
      case 1:
        update_rows(job, first, 1);
        break;
      case 2:
        update_rows(job, first, 2);
        break;
#if TILE_COLUMNS > 3
      case 3:
        update_rows(job, first, 3);
        break;
      case 4:
        update_rows(job, first, 4);
        break;
      case 5:
        update_rows(job, first, 5);
        break;
#endif
#if TILE_COLUMNS > 6
      case 6:
        update_rows(job, first, 6);
        break;
      case 7:
        update_rows(job, first, 7);
        break;
#endif
      default:
        update_rows(job, first, TILE_COLUMNS);
        break;
    }
  }
}

// L_qq = chol(C_qq) in place, zeros above; 1 / L_ii to inverse. False at a bad pivot.
static inline bool factor_tile(double* tile, double* inverse, int size) {
  for (int c = 0; c < size; ++c) {
    lanes column = lanes_load(tile + LANES * c);
    for (int d = 0; d < c; ++d) {
      column = lanes_subtract(column, lanes_load(tile + LANES * d), tile[LANES * d + c]);
    }
    lanes_store(tile + LANES * c, column);
    const double pivot = tile[LANES * c + c];
    if (!(pivot > 0 && pivot <= DBL_MAX)) {
      return false;
    }
    const double root = sqrt(pivot);
    inverse[c] = 1 / root;
    lanes_store(tile + LANES * c, lanes_scale(column, inverse[c]));
    tile[LANES * c + c] = root;
  }
  for (int c = 1; c < size; ++c) {
    for (int r = 0; r < c; ++r) {
      tile[LANES * c + r] = 0;
    }
  }
  return true;
}

// X L^T = C in place for one row chunk.
static inline void solve_tile(double* chunk, const double* tile, const double* inverse, int size) {
  lanes x[LANES];
  for (int c = 0; c < size; ++c) {
    x[c] = lanes_load(chunk + LANES * c);
  }
  for (int c = 0; c < size; ++c) {
    x[c] = lanes_scale(x[c], inverse[c]);
    lanes_store(chunk + LANES * c, x[c]);
    for (int d = c + 1; d < size; ++d) {
      x[d] = lanes_subtract(x[d], x[c], tile[LANES * c + d]);
    }
  }
}

static inline bool factor_column(double* tile, size_t stride, int32_t below, double* inverse,
                                 int size) {
  if (!factor_tile(tile, inverse, size)) {
    return false;
  }
  for (int32_t r = 1; r <= below; ++r) {
    solve_tile(tile + (size_t)r * stride, tile, inverse, size);
  }
  return true;
}

static bool factor_chunk_column(double* tile, size_t stride, int32_t below, double* inverse,
                                int32_t size) {
  switch (size) {
    case 1:
      return factor_column(tile, stride, below, inverse, 1);
    case 2:
      return factor_column(tile, stride, below, inverse, 2);
    case 3:
      return factor_column(tile, stride, below, inverse, 3);
    case 4:
      return factor_column(tile, stride, below, inverse, 4);
    case 5:
      return factor_column(tile, stride, below, inverse, 5);
    case 6:
      return factor_column(tile, stride, below, inverse, 6);
    case 7:
      return factor_column(tile, stride, below, inverse, 7);
    default:
      return factor_column(tile, stride, below, inverse, LANES);
  }
}

static inline void copy_tile(double* target, const double* source, const sap_block_load* load,
                             int rows, int columns) {
  for (int c = 0; c < columns; ++c) {
    for (int r = 0; r < rows; ++r) {
      target[LANES * c + r] =
          source[(size_t)r * (size_t)load->row_stride + (size_t)c * (size_t)load->column_stride];
    }
  }
}

static void load_panel(sap_block_factor* factor, int32_t s, const double* values) {
  double* panel = factor->panel + factor->panel_start[s];
  memset(panel, 0, (factor->panel_start[s + 1] - factor->panel_start[s]) * sizeof *panel);
  for (int32_t k = factor->load_start[s]; k < factor->load_start[s + 1]; ++k) {
    const sap_block_load* load = &factor->load[k];
    double* target = factor->panel + load->target;
    if (load->rows == 6 && load->columns == 6) {
      copy_tile(target, values + load->source, load, 6, 6);
    } else {
      copy_tile(target, values + load->source, load, load->rows, load->columns);
    }
  }
}

static void apply_updates(sap_block_factor* factor, int32_t s) {
  update_job job = {.c_stride = (size_t)LANES * (size_t)factor->super_width[s],
                    .place = factor->mark};
  for (int32_t k = factor->update_start[s]; k < factor->update_start[s + 1]; ++k) {
    const sap_block_update* from = &factor->update[k];
    const int32_t* rows = factor->row + factor->row_start[from->source];
    const int32_t height = factor->row_start[from->source + 1] - factor->row_start[from->source];
    const double* source = factor->panel + factor->panel_start[from->source];
    job.depth = factor->super_width[from->source];
    job.a_stride = (size_t)LANES * (size_t)job.depth;
    for (int32_t b = from->first; b < from->end; ++b) {
      job.c = factor->panel + factor->panel_start[s] +
              (size_t)LANES * (size_t)factor->chunk_column[rows[b]];
      job.a = job.b = source + (size_t)b * job.a_stride;
      job.row = rows + b;
      job.count = height - b;
      update(&job, factor->chunk_size[rows[b]]);
    }
  }
}

// Chunk whose pivot is bad, -1 when there is none.
static int32_t factor_panel(sap_block_factor* factor, int32_t s) {
  const int32_t* rows = factor->row + factor->row_start[s];
  const int32_t height = factor->row_start[s + 1] - factor->row_start[s];
  const int32_t own = factor->super_first[s + 1] - factor->super_first[s];
  const size_t stride = (size_t)LANES * (size_t)factor->super_width[s];
  double* panel = factor->panel + factor->panel_start[s];
  update_job job = {.c_stride = stride, .a_stride = stride, .place = factor->mark};
  for (int32_t q = 0; q < own; ++q) {
    double* diagonal = panel + (size_t)q * stride;
    job.depth = factor->chunk_column[rows[q]];
    job.c = panel + (size_t)LANES * (size_t)job.depth;
    job.a = job.b = diagonal;
    job.row = rows + q;
    job.count = height - q;
    if (job.depth > 0) {
      update(&job, factor->chunk_size[rows[q]]);
    }
    if (!factor_chunk_column(diagonal + (size_t)LANES * (size_t)job.depth, stride, height - q - 1,
                             factor->inverse + (size_t)LANES * (size_t)rows[q],
                             factor->chunk_size[rows[q]])) {
      return rows[q];
    }
  }
  return -1;
}

static int32_t factorize(sap_block_factor* factor, const double* values) {
  for (int32_t s = 0; s < factor->nsuper; ++s) {
    for (int32_t r = factor->row_start[s]; r < factor->row_start[s + 1]; ++r) {
      factor->mark[factor->row[r]] = r - factor->row_start[s];
    }
    load_panel(factor, s, values);
    apply_updates(factor, s);
    const int32_t broken = factor_panel(factor, s);
    if (broken >= 0) {
      return factor->chunk_block[broken];
    }
  }
  return -1;
}

// y_r -= L_r x for the first `depth` columns of a row chunk.
static inline void multiply_chunk(double* y, const double* chunk, const double* x, int32_t depth) {
  lanes even = lanes_load(y);
  lanes odd = lanes_zero();
  int32_t k = 0;
  for (; k + 2 <= depth; k += 2) {
    even = lanes_subtract(even, lanes_load(chunk + LANES * k), x[k]);
    odd = lanes_subtract(odd, lanes_load(chunk + LANES * (k + 1)), x[k + 1]);
  }
  if (k < depth) {
    even = lanes_subtract(even, lanes_load(chunk + LANES * k), x[k]);
  }
  lanes_store(y, lanes_subtract(even, odd, -1));
}

static void solve_forward(const sap_block_factor* factor, int32_t s, double* y, double* x) {
  const int32_t* rows = factor->row + factor->row_start[s];
  const int32_t height = factor->row_start[s + 1] - factor->row_start[s];
  const int32_t own = factor->super_first[s + 1] - factor->super_first[s];
  const int32_t width = factor->super_width[s];
  const double* panel = factor->panel + factor->panel_start[s];
  for (int32_t r = 0; r < height; ++r) {
    const double* chunk = panel + (size_t)r * (size_t)LANES * (size_t)width;
    double* target = y + (size_t)LANES * (size_t)rows[r];
    const int32_t depth = r < own ? factor->chunk_column[rows[r]] : width;
    multiply_chunk(target, chunk, x, depth);
    if (r < own) {
      const double* tile = chunk + (size_t)LANES * (size_t)depth;
      const double* inverse = factor->inverse + (size_t)LANES * (size_t)rows[r];
      const int32_t size = factor->chunk_size[rows[r]];
      for (int32_t c = 0; c < size; ++c) {
        x[depth + c] = target[c] *= inverse[c];
        for (int32_t i = c + 1; i < size; ++i) {
          target[i] -= tile[LANES * c + i] * target[c];
        }
      }
    }
  }
}

// Sums over the rows below of L_r^T y_r for one column chunk, then its triangle.
static inline void backward_chunk(const sap_block_factor* factor, int32_t s, int32_t q, double* y,
                                  int size) {
  const int32_t* rows = factor->row + factor->row_start[s];
  const int32_t height = factor->row_start[s + 1] - factor->row_start[s];
  const size_t stride = (size_t)LANES * (size_t)factor->super_width[s];
  const double* tile = factor->panel + factor->panel_start[s] + (size_t)q * stride +
                       (size_t)LANES * (size_t)factor->chunk_column[rows[q]];
  lanes sum[LANES];
  for (int c = 0; c < size; ++c) {
    sum[c] = lanes_zero();
  }
  for (int32_t r = q + 1; r < height; ++r) {
    const double* chunk = tile + (size_t)(r - q) * stride;
    const lanes z = lanes_load(y + (size_t)LANES * (size_t)rows[r]);
    for (int c = 0; c < size; ++c) {
      sum[c] = lanes_add_product(sum[c], lanes_load(chunk + LANES * c), z);
    }
  }
  double* target = y + (size_t)LANES * (size_t)rows[q];
  const double* inverse = factor->inverse + (size_t)LANES * (size_t)rows[q];
  for (int c = size - 1; c >= 0; --c) {
    double value = target[c] - lanes_sum(sum[c]);
    for (int i = c + 1; i < size; ++i) {
      value -= tile[LANES * c + i] * target[i];
    }
    target[c] = value * inverse[c];
  }
}

static void solve_backward(const sap_block_factor* factor, int32_t s, double* y) {
  for (int32_t k = factor->super_first[s + 1] - 1; k >= factor->super_first[s]; --k) {
    const int32_t q = k - factor->super_first[s];
    if (factor->chunk_size[k] == 6) {
      backward_chunk(factor, s, q, y, 6);
    } else {
      backward_chunk(factor, s, q, y, factor->chunk_size[k]);
    }
  }
}

static void solve(const sap_block_factor* factor, double* x) {
  double* y = factor->work;
  double* packed = y + (size_t)LANES * (size_t)factor->nchunks;
  for (int32_t k = 0; k < factor->nchunks; ++k) {
    for (int32_t r = 0; r < LANES; ++r) {
      y[LANES * k + r] = r < factor->chunk_size[k] ? x[factor->chunk_scalar[k] + r] : 0;
    }
  }
  for (int32_t s = 0; s < factor->nsuper; ++s) {
    solve_forward(factor, s, y, packed);
  }
  for (int32_t s = factor->nsuper - 1; s >= 0; --s) {
    solve_backward(factor, s, y);
  }
  for (int32_t k = 0; k < factor->nchunks; ++k) {
    for (int32_t r = 0; r < factor->chunk_size[k]; ++r) {
      x[factor->chunk_scalar[k] + r] = y[LANES * k + r];
    }
  }
}

const sap_block_kernels SAP_KERNELS_TABLE = {SAP_KERNELS_NAME, factorize, solve};
