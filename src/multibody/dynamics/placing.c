// SPDX-License-Identifier: BSD-3-Clause
// Order in which bodies are placed: by level, in groups of four with equal numbers of hinges.

#include <stdlib.h>

#include "core/error.h"
#include "core/memory.h"
#include "math/vector3.h"
#include "multibody/dynamics/dynamics_data.h"

typedef struct body_entry {
  int32_t level, hinges;  // hinges -1: has other joints, or is a root
  int32_t position, id;
} body_entry;

static int compare_entries(const void* a, const void* b) {
  const body_entry *x = a, *y = b;
  const int32_t differences[3] = {x->level - y->level, x->hinges - y->hinges,
                                  x->position - y->position};
  int k = 0;
  while (k < 2 && differences[k] == 0) {
    ++k;
  }
  return (differences[k] > 0) - (differences[k] < 0);
}

// Lists all moving bodies; returns their number. level: scratch (bodies).
static int32_t list_bodies(const sap_dynamics* d, int32_t* level, body_entry* entries) {
  const sap_model* model = d->model;
  int32_t count = 0;
  for (int32_t n = 1; n < model->sizes.bodies; ++n) {
    const int32_t id = model->body_order[n];
    const sap_model_body* body = &model->bodies[id];
    if (body->tree >= 0) {
      const bool behind = model->bodies[body->parent].tree >= 0;  // a moving parent
      const bool placed = (body->njoints == 0 && behind) || d->hinged[id];
      level[id] = behind ? level[body->parent] + 1 : 0;
      entries[count] = (body_entry){level[id], placed ? body->njoints : -1, count, id};
      ++count;
    }
  }
  return count;
}

// Number of entries from `at` on that form one group.
static int32_t group_size(const body_entry* entries, int32_t at, int32_t count) {
  int32_t n = 1;
  while (n < SAP_QUAD && at + n < count && entries[at].hinges >= 0 &&
         entries[at + n].level == entries[at].level &&
         entries[at + n].hinges == entries[at].hinges) {
    ++n;
  }
  return n;
}

static void fill_hinge(const sap_model* model, const sap_body_lanes* four, int32_t k,
                       sap_hinge_lanes* hinge) {
  hinge->anchored = k > 0;
  for (int lane = 0; lane < SAP_QUAD; ++lane) {
    const int32_t* joints = model->body_joints + model->bodies[four->body[lane]].first_joint;
    const sap_model_joint_data* joint = &model->joints[joints[k]];
    for (int i = 0; i < 3; ++i) {
      hinge->axis[i][lane] = joint->axis[i];
      hinge->p_BJ[i][lane] = joint->p_BJ[i];
    }
    hinge->reference[lane] = joint->reference;
    hinge->q_start[lane] = joint->q_start;
    hinge->v_start[lane] = joint->v_start;
    const double* last = model->joints[joints[k > 0 ? k - 1 : 0]].p_BJ;
    hinge->anchored = hinge->anchored && sap_v3_equal(joint->p_BJ, last);
  }
}

static void fill_four(const sap_dynamics* d, const body_entry* entries, int32_t count,
                      sap_placing* placing) {
  const sap_model* model = d->model;
  sap_body_lanes* four = &placing->fours[placing->nfours++];
  for (int lane = 0; lane < SAP_QUAD; ++lane) {
    const int32_t id = entries[lane < count ? lane : 0].id;
    const sap_model_body* body = &model->bodies[id];
    four->body[lane] = id;
    four->parent[lane] = body->parent;
    four->root[lane] = d->tree_root[body->tree];
    four->tree[lane] = body->tree;
    for (int i = 0; i < 3; ++i) {
      four->p_PB[i][lane] = body->p_PB[i];
    }
    for (int i = 0; i < 4; ++i) {
      four->q_PB[i][lane] = body->q_PB[i];
    }
  }
  four->first_hinge = placing->nhinges;
  four->nhinges = entries->hinges;
  for (int32_t k = 0; k < four->nhinges; ++k) {
    fill_hinge(model, four, k, &placing->hinges[placing->nhinges++]);
  }
}

static sap_status make_steps(sap_dynamics* d, const body_entry* entries, int32_t count,
                             sap_error* error) {
  sap_placing* placing = &d->placing;
  SAP_TRY(SAP_POOL_ADD(&d->pool, &placing->steps, count, error));
  for (int32_t at = 0, n; at < count; at += n) {
    n = group_size(entries, at, count);
    placing->steps[placing->nsteps++] = n == 1 ? entries[at].id : -1 - placing->nfours;
    if (n > 1) {
      SAP_TRY(SAP_ROOM(&d->pool, &placing->fours, placing->nfours + 1, error));
      SAP_TRY(SAP_ROOM(&d->pool, &placing->hinges, placing->nhinges + entries[at].hinges, error));
      fill_four(d, entries + at, n, placing);
    }
  }
  return SAP_STATUS_OK;
}

// Makes the groups of four links.
static sap_status make_link_groups(sap_dynamics* d, sap_error* error) {
  sap_placing* placing = &d->placing;
  int32_t used = SAP_QUAD;  // lanes of the last group
  for (int32_t l = 0; l < d->nlinks; ++l) {
    const sap_link* link = &d->links[l];
    if (link->lone) {
      continue;
    }
    if (used == SAP_QUAD) {
      SAP_TRY(SAP_ROOM(&d->pool, &placing->links, placing->nlinks + 1, error));
      ++placing->nlinks;
      used = 0;
    }
    const int first = used++;
    sap_link_lanes* four = &placing->links[placing->nlinks - 1];
    for (int lane = first; lane < SAP_QUAD; ++lane) {  // unused lanes repeat it
      four->link[lane] = l;
      four->body[lane] = link->body;
      four->root[lane] = d->tree_root[link->tree];
      four->tree[lane] = link->tree;
      four->mass[lane] = link->body_inertia.mass;
      for (int i = 0; i < 3; ++i) {
        four->h[i][lane] = link->body_inertia.h[i];
      }
      for (int i = 0; i < 6; ++i) {
        four->I[i][lane] = link->body_inertia.I[i];
      }
    }
  }
  return SAP_STATUS_OK;
}

static sap_status make_placing(sap_dynamics* d, sap_pool* scratch, sap_error* error) {
  const int32_t bodies = d->model->sizes.bodies;
  int32_t* level;
  body_entry* entries;
  SAP_TRY(SAP_POOL_ADD(scratch, &level, bodies, error));
  SAP_TRY(SAP_POOL_ADD(scratch, &entries, bodies, error));
  const int32_t count = list_bodies(d, level, entries);
  qsort(entries, (size_t)count, sizeof *entries, compare_entries);
  SAP_TRY(make_steps(d, entries, count, error));
  return make_link_groups(d, error);
}

sap_status sap_placing_create(sap_dynamics* d, sap_error* error) {
  sap_pool scratch = {.owner = "order of bodies"};
  const sap_status status = make_placing(d, &scratch, error);
  sap_pool_free(&scratch);
  return status;
}
