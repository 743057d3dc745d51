// SPDX-License-Identifier: BSD-3-Clause
// Steps a scene and draws it at given times, side by side, as SVG: film_strip SCENE OUT.svg T...
// Orthographic camera, painter's algorithm by the depth of each shape's centre.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sapstep/sapstep.h>

enum { MAX_FRAMES = 8, CYLINDER_SIDES = 20, MAX_CORNERS = 2 * CYLINDER_SIDES };

// A shape in the world at one time.
typedef struct solid {
  sap_shape_type type;
  double p[3], R[9];  // pose, R column-major
  double size[3];
  double depth;   // of its centre along the view
  bool fixed;     // part of the world
  int32_t color;  // index of the palette
} solid;

typedef struct frame {
  double t;
  solid* solids;
  int32_t count;
} frame;

static const double palette[][3] = {{217, 115, 64}, {74, 130, 189},  {96, 160, 110},
                                    {205, 165, 70}, {150, 110, 170}, {110, 120, 135}};
enum { PALETTE_SIZE = 6, FIXED_COLOR = 5 };
static const int32_t color_of[] = {[SAP_SHAPE_SPHERE] = 0,
                                   [SAP_SHAPE_BOX] = 1,
                                   [SAP_SHAPE_CAPSULE] = 2,
                                   [SAP_SHAPE_CYLINDER] = 3,
                                   [SAP_SHAPE_ELLIPSOID] = 4};

// Camera: looks down by 20 degrees, from the front right.
static const double view_right[3] = {0.8660254, -0.5, 0.0};
static const double view_up[3] = {0.1710101, 0.2961981, 0.9396926};
static const double view_forward[3] = {0.4698463, 0.8137977, -0.3420201};
static const double light[3] = {-0.35, -0.45, 0.82};

static double dot(const double a[3], const double b[3]) {
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static void matrix_of(double R[9], const double q[4]) {
  const double w = q[0], x = q[1], y = q[2], z = q[3];
  const double columns[9] = {
      1 - 2 * (y * y + z * z), 2 * (x * y + w * z),     2 * (x * z - w * y),
      2 * (x * y - w * z),     1 - 2 * (x * x + z * z), 2 * (y * z + w * x),
      2 * (x * z + w * y),     2 * (y * z - w * x),     1 - 2 * (x * x + y * y)};
  memcpy(R, columns, sizeof columns);
}

// out = p + R local
static void place(double out[3], const double p[3], const double R[9], const double local[3]) {
  for (int i = 0; i < 3; ++i) {
    out[i] = p[i] + R[i] * local[0] + R[3 + i] * local[1] + R[6 + i] * local[2];
  }
}

// --- stepping -----------------------------------------------------------------------------------

static sap_status capture(const sap_model* model, sap_multibody* multibody, const sap_state* state,
                          frame* out, sap_error* error) {
  const int32_t shapes = sap_model_get_sizes(model).shapes;
  out->t = state->t;
  out->solids = calloc((size_t)shapes + 1, sizeof *out->solids);
  if (out->solids == NULL) {
    return SAP_STATUS_MEMORY;
  }
  for (int32_t i = 0; i < shapes; ++i) {
    sap_shape_def shape;
    double p_WB[3], q_WB[4], R_WB[9], R_BS[9];
    sap_status status = sap_model_get_shape(model, i, &shape, error);
    if (status == SAP_STATUS_OK) {
      status = sap_multibody_body_pose(multibody, state->q, shape.body, p_WB, q_WB, error);
    }
    if (status != SAP_STATUS_OK) {
      return status;
    }
    if (shape.type == SAP_SHAPE_PLANE) {
      continue;
    }
    solid* s = &out->solids[out->count++];
    const double origin[3] = {0, 0, 0};
    s->type = shape.type;
    s->fixed = shape.body == 0;
    s->color = s->fixed ? FIXED_COLOR : color_of[shape.type];
    memcpy(s->size, shape.size, sizeof s->size);
    matrix_of(R_WB, q_WB);
    matrix_of(R_BS, shape.q_BS);
    place(s->p, p_WB, R_WB, shape.p_BS);
    for (int j = 0; j < 3; ++j) {
      place(&s->R[3 * j], origin, R_WB, &R_BS[3 * j]);
    }
    s->depth = dot(s->p, view_forward);
  }
  return SAP_STATUS_OK;
}

static sap_status film(const char* path, int count, const double* times, frame* frames,
                       sap_error* error) {
  sap_model* model = NULL;
  sap_multibody* multibody = NULL;
  sap_stepper* stepper = NULL;
  sap_state state = {0};
  sap_stepper_options options = sap_stepper_options_default();
  sap_status status = sap_scene_read(path, NULL, &model, error);
  if (status == SAP_STATUS_OK) {
    options.dt = sap_model_get_options(model)->timestep;
    status = sap_multibody_create(model, &multibody, error);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_stepper_create(sap_multibody_system(multibody), &options, &stepper, error);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_model_get_default_state(model, &state, error);
  }
  for (int i = 0; i < count && status == SAP_STATUS_OK; ++i) {
    while (status == SAP_STATUS_OK && state.t < times[i] - 0.5 * options.dt) {
      status = sap_stepper_step(stepper, &state, NULL, error);
    }
    if (status == SAP_STATUS_OK) {
      status = capture(model, multibody, &state, &frames[i], error);
    }
  }
  sap_stepper_destroy(stepper);
  sap_multibody_destroy(multibody);
  sap_model_destroy(model);
  sap_state_clear(&state);
  return status;
}

// --- drawing ------------------------------------------------------------------------------------

typedef struct canvas {
  FILE* out;
  double scale;  // pixels per metre
  double x, y;   // pixel of the world's origin
} canvas;

static void project(const canvas* c, const double p[3], double out[2]) {
  out[0] = c->x + c->scale * dot(p, view_right);
  out[1] = c->y - c->scale * dot(p, view_up);
}

// Corners of the convex hull that is drawn for boxes and cylinders; returns their number.
static int corners_of(const solid* s, double corners[MAX_CORNERS][3]) {
  if (s->type == SAP_SHAPE_BOX) {
    for (int i = 0; i < 8; ++i) {
      // Counter-clockwise bottom, then top: a prism like the cylinder's.
      const double x = i % 4 == 0 || i % 4 == 3 ? -1 : 1, y = i % 4 < 2 ? -1 : 1;
      const double local[3] = {x * s->size[0], y * s->size[1], (i < 4 ? -1 : 1) * s->size[2]};
      place(corners[i], s->p, s->R, local);
    }
    return 8;
  }
  for (int i = 0; i < 2 * CYLINDER_SIDES; ++i) {
    const double angle = 2 * 3.14159265358979 * (i % CYLINDER_SIDES) / CYLINDER_SIDES;
    const double local[3] = {s->size[0] * cos(angle), s->size[0] * sin(angle),
                             (i < CYLINDER_SIDES ? -1 : 1) * s->size[1]};
    place(corners[i], s->p, s->R, local);
  }
  return 2 * CYLINDER_SIDES;
}

static void draw_face(const canvas* c, const solid* s, double corners[MAX_CORNERS][3],
                      const int* index, int count) {
  double a[3], b[3];
  for (int i = 0; i < 3; ++i) {
    a[i] = corners[index[1]][i] - corners[index[0]][i];
    b[i] = corners[index[2]][i] - corners[index[1]][i];
  }
  const double n[3] = {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2],
                       a[0] * b[1] - a[1] * b[0]};
  if (!(dot(n, view_forward) < 0.0)) {
    return;
  }
  const double* color = palette[s->color];
  const double shade = 0.62 + 0.42 * fmax(-0.6, dot(n, light) / sqrt(dot(n, n)));
  (void)fprintf(c->out, "<polygon points=\"");
  for (int i = 0; i < count; ++i) {
    double at[2];
    project(c, corners[index[i]], at);
    (void)fprintf(c->out, "%.1f,%.1f ", at[0], at[1]);
  }
  (void)fprintf(c->out,
                "\" fill=\"rgb(%.0f,%.0f,%.0f)\" fill-opacity=\"%g\" stroke=\"#333\" "
                "stroke-opacity=\"%g\" stroke-width=\"0.7\"/>\n",
                fmin(255, shade * color[0]), fmin(255, shade * color[1]),
                fmin(255, shade * color[2]), s->fixed ? 0.12 : 1.0, s->fixed ? 0.3 : 0.6);
}

static void draw_prism(const canvas* c, const solid* s) {
  double corners[MAX_CORNERS][3];
  const int half = corners_of(s, corners) / 2;
  int top[MAX_CORNERS], bottom[MAX_CORNERS];
  for (int i = 0; i < half; ++i) {
    const int next = (i + 1) % half;
    const int side[4] = {i, next, half + next, half + i};
    draw_face(c, s, corners, side, 4);
    top[i] = half + i;
    bottom[i] = half - 1 - i;
  }
  draw_face(c, s, corners, bottom, half);
  draw_face(c, s, corners, top, half);
}

// The silhouette of an ellipsoid is the ellipse of the projected matrix R diag(size^2) R'.
static void draw_ellipsoid(const canvas* c, const solid* s) {
  double xx = 0, xy = 0, yy = 0, at[2];
  for (int k = 0; k < 3; ++k) {
    const double size = s->type == SAP_SHAPE_SPHERE ? s->size[0] : s->size[k];
    const double x = size * dot(&s->R[3 * k], view_right), y = -size * dot(&s->R[3 * k], view_up);
    xx += x * x;
    xy += x * y;
    yy += y * y;
  }
  const double mean = 0.5 * (xx + yy), spread = hypot(0.5 * (xx - yy), xy);
  project(c, s->p, at);
  (void)fprintf(
      c->out,
      "<ellipse rx=\"%.1f\" ry=\"%.1f\" transform=\"translate(%.1f %.1f) rotate(%.1f)\" "
      "fill=\"url(#ball%d)\" stroke=\"#333\" stroke-opacity=\"0.6\" stroke-width=\"0.7\"/>\n",
      c->scale * sqrt(mean + spread), c->scale * sqrt(fmax(0, mean - spread)), at[0], at[1],
      0.5 * atan2(2 * xy, xx - yy) * 57.29578, (int)s->color);
}

static void capsule_ends(const solid* s, double a[3], double b[3]) {
  const double low[3] = {0, 0, -s->size[1]}, high[3] = {0, 0, s->size[1]};
  place(a, s->p, s->R, low);
  place(b, s->p, s->R, high);
}

static void draw_capsule(const canvas* c, const solid* s) {
  // Three strokes: outline, body, highlight towards the light.
  static const double width[] = {1.0, 0.94, 0.35}, shade[] = {0.45, 0.92, 1.12};
  static const double offset[] = {0.0, 0.0, 0.28};
  double a[3], b[3], pa[2], pb[2];
  capsule_ends(s, a, b);
  project(c, a, pa);
  project(c, b, pb);
  const double r = c->scale * s->size[0];
  for (int i = 0; i < 3; ++i) {
    const double* color = palette[s->color];
    const double x = -0.6 * offset[i] * r, y = -offset[i] * r;
    (void)fprintf(c->out,
                  "<path d=\"M%.1f %.1fL%.1f %.1f\" stroke-linecap=\"round\" stroke-width=\"%.1f\" "
                  "stroke=\"rgb(%.0f,%.0f,%.0f)\"/>\n",
                  pa[0] + x, pa[1] + y, pb[0] + x + 0.01, pb[1] + y, 2 * width[i] * r,
                  fmin(255, shade[i] * color[0]), fmin(255, shade[i] * color[1]),
                  fmin(255, shade[i] * color[2]));
  }
}

// A shadow under the light from above: the ground points below the shape's ends.
static void draw_shadow(const canvas* c, const solid* s) {
  double a[3], b[3];
  memcpy(a, s->p, sizeof a);
  memcpy(b, s->p, sizeof b);
  double radius = s->type == SAP_SHAPE_BOX ? 0.5 * (s->size[0] + s->size[1]) : s->size[0];
  if (s->type == SAP_SHAPE_CAPSULE || s->type == SAP_SHAPE_CYLINDER) {
    capsule_ends(s, a, b);
  }
  for (int i = 0; i <= 4; ++i) {
    double p[3] = {0, 0, 0}, at[2];
    for (int k = 0; k < 2; ++k) {
      p[k] = a[k] + 0.25 * i * (b[k] - a[k]);
    }
    project(c, p, at);
    (void)fprintf(c->out, "<ellipse cx=\"%.1f\" cy=\"%.1f\" rx=\"%.1f\" ry=\"%.1f\"/>\n", at[0],
                  at[1], 1.1 * c->scale * radius, -1.1 * c->scale * radius * view_forward[2]);
  }
}

static int by_depth(const void* a, const void* b) {
  const solid *x = a, *y = b;
  return (x->depth < y->depth) - (x->depth > y->depth);
}

static void draw_frame(const canvas* c, frame* f) {
  (void)fprintf(c->out, "<g fill=\"#000\" opacity=\"0.16\">\n");
  for (int32_t i = 0; i < f->count; ++i) {
    if (!f->solids[i].fixed) {
      draw_shadow(c, &f->solids[i]);
    }
  }
  (void)fprintf(c->out, "</g>\n");
  qsort(f->solids, (size_t)f->count, sizeof *f->solids, by_depth);
  for (int32_t i = 0; i < f->count; ++i) {
    const solid* s = &f->solids[i];
    if (s->type == SAP_SHAPE_CAPSULE) {
      draw_capsule(c, s);
    } else if (s->type == SAP_SHAPE_BOX || s->type == SAP_SHAPE_CYLINDER) {
      draw_prism(c, s);
    } else {
      draw_ellipsoid(c, s);
    }
  }
}

static void widen(double box[4], const double p[3], double reach) {
  const double x = dot(p, view_right), y = dot(p, view_up);
  box[0] = fmin(box[0], x - reach);
  box[1] = fmax(box[1], x + reach);
  box[2] = fmin(box[2], y - reach);
  box[3] = fmax(box[3], y + reach);
}

// The part of the picture plane that all frames need: {left, right, bottom, top} [m].
static void bounds(const frame* frames, int count, double box[4]) {
  box[0] = box[2] = (double)INFINITY;
  box[1] = box[3] = -(double)INFINITY;
  for (int k = 0; k < count; ++k) {
    for (int32_t i = 0; i < frames[k].count; ++i) {
      const solid* s = &frames[k].solids[i];
      double corners[MAX_CORNERS][3];
      if (s->type == SAP_SHAPE_BOX || s->type == SAP_SHAPE_CYLINDER) {
        for (int j = corners_of(s, corners) - 1; j >= 0; --j) {
          widen(box, corners[j], 0.0);
        }
      } else if (s->type == SAP_SHAPE_CAPSULE) {
        capsule_ends(s, corners[0], corners[1]);
        widen(box, corners[0], s->size[0]);
        widen(box, corners[1], s->size[0]);
      } else {
        const bool sphere = s->type == SAP_SHAPE_SPHERE;
        widen(box, s->p, sphere ? s->size[0] : sqrt(dot(s->size, s->size)));
      }
    }
  }
}

static void draw(FILE* out, frame* frames, int count) {
  const double panel = 300.0, caption = 26.0, margin = 12.0;  // [pixels]
  double box[4];
  bounds(frames, count, box);
  canvas c = {.out = out, .scale = (panel - 2 * margin) / (box[1] - box[0])};
  const double height = c.scale * (box[3] - box[2]) + 2 * margin + caption;
  (void)fprintf(
      out,
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" fill=\"none\">\n"
      "<rect width=\"100%%\" height=\"100%%\" fill=\"#fbfaf7\"/>\n<defs>\n",
      count * panel, height);
  for (int i = 0; i < PALETTE_SIZE; ++i) {
    const double* color = palette[i];
    (void)fprintf(out,
                  "<radialGradient id=\"ball%d\" cx=\"0.36\" cy=\"0.3\" r=\"0.75\">"
                  "<stop offset=\"0\" stop-color=\"rgb(%.0f,%.0f,%.0f)\"/>"
                  "<stop offset=\"1\" stop-color=\"rgb(%.0f,%.0f,%.0f)\"/></radialGradient>\n",
                  i, fmin(255, 1.2 * color[0] + 20), fmin(255, 1.2 * color[1] + 20),
                  fmin(255, 1.2 * color[2] + 20), 0.6 * color[0], 0.6 * color[1], 0.6 * color[2]);
  }
  (void)fprintf(out, "</defs>\n");
  for (int k = 0; k < count; ++k) {
    c.x = k * panel + margin - c.scale * box[0];
    c.y = margin + c.scale * box[3];
    draw_frame(&c, &frames[k]);
    (void)fprintf(out,
                  "<text x=\"%.0f\" y=\"%.0f\" font-family=\"sans-serif\" font-size=\"15\" "
                  "text-anchor=\"middle\" fill=\"#444\">t = %.2f s</text>\n",
                  (k + 0.5) * panel, height - 9, frames[k].t);
  }
  (void)fprintf(out, "</svg>\n");
}

int main(int argc, char** argv) {
  if (argc < 4 || argc > 3 + MAX_FRAMES) {
    (void)fprintf(stderr, "usage: film_strip SCENE OUT.svg T... (up to %d times)\n", MAX_FRAMES);
    return 2;
  }
  double times[MAX_FRAMES];
  frame frames[MAX_FRAMES] = {{0}};
  const int count = argc - 3;
  for (int i = 0; i < count; ++i) {
    times[i] = strtod(argv[3 + i], NULL);
  }
  sap_error error = {0};
  int code = 1;
  if (film(argv[1], count, times, frames, &error) != SAP_STATUS_OK) {
    (void)fprintf(stderr, "film_strip: %s\n", error.message);
  } else {
    FILE* out = fopen(argv[2], "w");
    if (out != NULL) {
      draw(out, frames, count);
      code = fclose(out) == 0 ? 0 : 1;
    }
    if (code != 0) {
      perror(argv[2]);
    }
  }
  for (int i = 0; i < count; ++i) {
    free(frames[i].solids);
  }
  return code;
}
