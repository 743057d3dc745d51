// SPDX-License-Identifier: BSD-3-Clause
#include "multibody/model/path.h"

#include "math/vector3.h"
#include "multibody/model/wrap.h"

static void place(const sap_path* path, int32_t body, const double p_BP[3], double out[3]) {
  sap_v3_place(out, path->p_WB + 3 * (size_t)body, path->R_WB + 9 * (size_t)body, p_BP);
}

static void place_element(const sap_path* path, int32_t element, double out[3]) {
  place(path, path->model->tendon_point_bodies[element],
        path->model->tendon_points + 3 * (size_t)element, out);
}

void sap_path_begin(sap_path* path, const sap_model* model, int32_t tendon, const double* p_WB,
                    const double* R_WB) {
  const sap_model_tendon* t = &model->tendons[tendon];
  *path = (sap_path){.model = model,
                     .p_WB = p_WB,
                     .R_WB = R_WB,
                     .at = t->first_point,
                     .end = t->first_point + t->npoints,
                     .share = 1.0};
}

static void make_piece(sap_piece* piece) {
  sap_v3_sub(piece->u, piece->p[1], piece->p[0]);
  piece->length = sap_v3_norm(piece->u);
  sap_v3_scale(piece->u, piece->u, piece->length > 0.0 ? 1.0 / piece->length : 0.0);
}

// Where the string along the piece touches the obstacle; < 0: it does not.
static double meet(const sap_path* path, int32_t element, const sap_piece* piece,
                   double touch[2][3]) {
  const sap_tendon_wrap* wrap = &path->model->tendon_wraps[element];
  const int32_t body = path->model->tendon_point_bodies[element];
  sap_obstacle obstacle = {.cylinder = wrap->way == SAP_TENDON_CYLINDER,
                           .radius = wrap->radius,
                           .has_side = wrap->side_body >= 0};
  place_element(path, element, obstacle.center);
  if (obstacle.cylinder) {
    sap_m3_mul_v3(obstacle.axis, path->R_WB + 9 * (size_t)body, wrap->axis);
  }
  if (obstacle.has_side) {
    place(path, wrap->side_body, wrap->side_point, obstacle.side);
  }
  double ends[2][3];
  sap_v3_copy(ends[0], piece->p[0]);
  sap_v3_copy(ends[1], piece->p[1]);
  return sap_wrap(&obstacle, ends, touch);
}

bool sap_path_next(sap_path* path, sap_piece* piece) {
  const sap_model* model = path->model;
  const int32_t* bodies = model->tendon_point_bodies;
  if (path->has_kept) {
    path->has_kept = false;
    *piece = path->kept;
    return true;
  }
  for (int32_t i = path->at; i < path->end && i < path->at + 2; ++i) {
    if (model->tendon_wraps[i].way == SAP_TENDON_PULLEY) {
      path->share = 1.0 / model->tendon_wraps[i].divisor;
      path->at = i + 1;
    }
  }
  if (path->at + 1 >= path->end) {
    return false;
  }
  const int32_t first = path->at, middle = first + 1;
  const bool obstructed = model->tendon_wraps[middle].way != SAP_TENDON_POINT;
  const int32_t last = obstructed ? middle + 1 : middle;
  *piece = (sap_piece){.body = {bodies[first], bodies[last]}, .share = path->share};
  place_element(path, first, piece->p[0]);
  place_element(path, last, piece->p[1]);
  path->at = last;
  double touch[2][3];
  const double length = obstructed ? meet(path, middle, piece, touch) : -1.0;
  if (length >= 0.0) {
    path->on_obstacles += path->share * length;
    path->kept = *piece;
    path->kept.body[0] = piece->body[1] = bodies[middle];
    sap_v3_copy(path->kept.p[0], touch[1]);
    sap_v3_copy(piece->p[1], touch[0]);
    make_piece(&path->kept);
    path->has_kept = true;
  }
  make_piece(piece);
  return true;
}

double sap_path_length(const sap_model* model, int32_t tendon, const double* p_WB,
                       const double* R_WB) {
  sap_path path;
  sap_piece piece;
  double length = 0.0;
  sap_path_begin(&path, model, tendon, p_WB, R_WB);
  while (sap_path_next(&path, &piece)) {
    length += piece.share * piece.length;
  }
  return length + path.on_obstacles;
}
