// SPDX-License-Identifier: BSD-3-Clause
#define _XOPEN_SOURCE 700
#include "mujoco_runner.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATH_SIZE = 1024 };

const char* const who_names[WHO_COUNT] = {"sapstep", "Euler", "implicit", "implicitfast",
                                          "discrete"};

#if mjVERSION_HEADER >= 320
// Stands in for pictures that are not there: 16 x 12 white pixels, a grid of squares 3 by 4 too.
static const unsigned char white[] = {
    0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0x00, 0x00, 0x00, 0x0d, 0x49, 0x48, 0x44, 0x52,
    0x00, 0x00, 0x00, 0x10, 0x00, 0x00, 0x00, 0x0c, 0x08, 0x02, 0x00, 0x00, 0x00, 0xe4, 0x85, 0xaa,
    0xd6, 0x00, 0x00, 0x00, 0x13, 0x49, 0x44, 0x41, 0x54, 0x78, 0xda, 0x63, 0xf8, 0x4f, 0x22, 0x60,
    0x18, 0xd5, 0x30, 0xaa, 0x01, 0x3b, 0x00, 0x00, 0x13, 0x69, 0x3d, 0xdf, 0xcd, 0xf0, 0x81, 0xc0,
    0x00, 0x00, 0x00, 0x00, 0x49, 0x45, 0x4e, 0x44, 0xae, 0x42, 0x60, 0x82};

// Textures do not move anything: those that cannot be opened become white.
static mjModel* load_without_pictures(const char* path, char* error, int size) {
  enum { PICTURES = 64 };
  mjVFS files;
  mjModel* m = NULL;
  mj_defaultVFS(&files);
  for (int i = 0; m == NULL && i < PICTURES; ++i) {
    m = mj_loadXML(path, &files, error, size);
    char* name = m == NULL ? strstr(error, "opening file '") : NULL;
    char* end = name != NULL ? strchr(name + 14, '\'') : NULL;
    if (end == NULL || end - name < 18 || strncmp(end - 4, ".png", 4) != 0) {
      break;
    }
    *end = '\0';
    (void)mj_addBufferVFS(&files, name + 14, white, sizeof white);
  }
  mj_deleteVFS(&files);
  return m;
}
#endif

mjModel* load(const char* folder, const char* name) {
  char path[PATH_SIZE], text[400] = "";
  (void)snprintf(path, sizeof path, "%s/%s", folder, name);
#if mjVERSION_HEADER >= 320
  mjModel* m = load_without_pictures(path, text, sizeof text);
#else
  mjModel* m = mj_loadXML(path, NULL, text, sizeof text);
#endif
  if (m == NULL) {
    (void)printf("{\"left_out\": \"%s\", \"because\": \"", name);
    for (const char* c = text; *c != '\0'; ++c) {
      (void)putchar(*c == '"' || *c == '\\' ? '\'' : *c == '\n' ? ' ' : *c);
    }
    (void)printf("\"}\n");
  }
  return m;
}

mjModel* load_text(const char* text) {
  char path[] = "/tmp/sapstep_bench_XXXXXX";
  const int file = mkstemp(path);
  if (file < 0 || write(file, text, strlen(text)) != (ssize_t)strlen(text)) {
    return NULL;
  }
  (void)close(file);
  char error[400] = "";
  mjModel* m = mj_loadXML(path, NULL, error, sizeof error);
  (void)unlink(path);
  if (m == NULL) {
    (void)fprintf(stderr, "%s\n", error);
  }
  return m;
}

bool choose(mjModel* m, who w) {
  switch (w) {
    case SAPSTEP:
    case EULER:
      m->opt.integrator = mjINT_EULER;
      return true;
    case IMPLICIT:
      m->opt.integrator = mjINT_IMPLICIT;
      return true;
    case IMPLICITFAST:
#if mjVERSION_HEADER >= 300
      m->opt.integrator = mjINT_IMPLICITFAST;
      return true;
#else
      return false;
#endif
    case DISCRETE:
#if mjVERSION_HEADER >= 3013000
      m->opt.integrator = mjINT_DISCRETE;
      return true;
#else
      return false;
#endif
    default:
      return false;
  }
}

runner begin(mjModel* m, who w, int key) {
  runner r = {.m = m, .d = mj_makeData(m)};
  if (m->nkey > key && key >= 0) {
    mj_resetDataKeyframe(m, r.d, key);
  }
  sap_error error = {0};
  if (w == SAPSTEP && sap_mj_create(m, NULL, &r.a, &error) != SAP_STATUS_OK) {
    (void)fprintf(stderr, "%s\n", error.message);
    exit(4);
  }
  return r;
}

void end(runner* r) {
  sap_mj_destroy(r->a);
  mj_deleteData(r->d);
}

bool step(runner* r, sap_mj_report* report) {
  if (r->a != NULL) {
    return sap_mj_step(r->a, r->d, report, NULL) == SAP_STATUS_OK;
  }
  mj_step(r->m, r->d);
  return r->d->warning[mjWARN_BADQACC].number + r->d->warning[mjWARN_BADQVEL].number +
             r->d->warning[mjWARN_BADQPOS].number ==
         0;
}

static double fastest(const runner* r) {
  double speed = 0.0;
  for (int i = 0; i < (int)r->m->nv; ++i) {
    speed = fmax(speed, fabs(r->d->qvel[i]));
  }
  return speed;
}

double survive(runner* r, double duration) {
  enum { TOO_FAST = 1000 };  // rad/s, m/s
  while (r->d->time < duration - 1e-9) {
    if (!step(r, NULL) || !(fastest(r) < TOO_FAST)) {
      return r->d->time;
    }
  }
  return duration;
}
