// SPDX-License-Identifier: BSD-3-Clause
#include "dynamics/placing.h"

#include <stdlib.h>

#include "core/memory.h"
#include "dynamics/dynamics_data.h"

// A moving body and its place in the order.
typedef struct entry {
  int32_t level, hinges;  // -1 hinges: has other joints, or is a root
  int32_t position, id;
} entry;

static int compare(const void* a, const void* b) {
  const entry *x = a, *y = b;
  const int32_t differences[3] = {x->level - y->level, x->hinges - y->hinges,
                                  x->position - y->position};
  const int k = differences[0] != 0 ? 0 : differences[1] != 0 ? 1 : 2;
  return (differences[k] > 0) - (differences[k] < 0);
}

static int32_t hinges_of(const sap_model* model, const sap_model_body* body) {
  bool hinges = model->bodies[body->parent].tree >= 0;
  for (int32_t k = 0; hinges && k < body->njoints; ++k) {
    hinges = model->joints[model->body_joints[body->first_joint + k]].type == SAP_JOINT_HINGE;
  }
  return hinges ? body->njoints : -1;
}

// All moving bodies in order; returns how many. `level` (bodies) is scratch.
static int32_t sort_bodies(const sap_model* model, int32_t* level, entry* entries) {
  int32_t count = 0;
  for (int32_t n = 1; n < model->sizes.bodies; ++n) {
    const int32_t id = model->body_order[n];
    const sap_model_body* body = &model->bodies[id];
    if (body->tree >= 0) {
      level[id] = model->bodies[body->parent].tree >= 0 ? level[body->parent] + 1 : 0;
      entries[count] = (entry){level[id], hinges_of(model, body), count, id};
      ++count;
    }
  }
  qsort(entries, (size_t)count, sizeof *entries, compare);
  return count;
}

// Of the entries from `at` on, how many go together.
static int32_t run_length(const entry* entries, int32_t at, int32_t count) {
  int32_t n = 1;
  while (n < SAP_LANES && at + n < count && entries[at].hinges >= 0 &&
         entries[at + n].level == entries[at].level &&
         entries[at + n].hinges == entries[at].hinges) {
    ++n;
  }
  return n;
}

static bool is_same_point(const sap_model_joint_data* a, const sap_model_joint_data* b) {
  return a->p_BJ[0] == b->p_BJ[0] && a->p_BJ[1] == b->p_BJ[1] && a->p_BJ[2] == b->p_BJ[2];
}

static void fill_hinge(const sap_model* model, const sap_body_lanes* four, int32_t k,
                       sap_hinge_lanes* hinge) {
  hinge->anchored = k > 0;
  for (int lane = 0; lane < SAP_LANES; ++lane) {
    const int32_t* joints = model->body_joints + model->bodies[four->body[lane]].first_joint;
    const sap_model_joint_data* joint = &model->joints[joints[k]];
    for (int i = 0; i < 3; ++i) {
      hinge->axis[i][lane] = joint->axis[i];
      hinge->p_BJ[i][lane] = joint->p_BJ[i];
    }
    hinge->reference[lane] = joint->reference;
    hinge->q_start[lane] = joint->q_start;
    hinge->v_start[lane] = joint->v_start;
    hinge->anchored =
        hinge->anchored && is_same_point(joint, &model->joints[joints[k > 0 ? k - 1 : 0]]);
  }
}

static void fill_four(const sap_dynamics* d, const entry* entries, int32_t count,
                      sap_placing* placing) {
  const sap_model* model = d->model;
  sap_body_lanes* four = &placing->fours[placing->nfours++];
  for (int lane = 0; lane < SAP_LANES; ++lane) {
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

// Counts only where there is no memory yet.
static void make_steps(const sap_dynamics* d, const entry* entries, int32_t count,
                       sap_placing* placing) {
  placing->nsteps = placing->nfours = placing->nhinges = 0;
  for (int32_t at = 0, n; at < count; at += n) {
    n = run_length(entries, at, count);
    const bool alone = n == 1;
    if (placing->steps == NULL) {
      placing->nfours += alone ? 0 : 1;
      placing->nhinges += alone ? 0 : entries[at].hinges;
    } else {
      placing->steps[placing->nsteps] = alone ? entries[at].id : -1 - placing->nfours;
      if (!alone) {
        fill_four(d, entries + at, n, placing);
      }
    }
    ++placing->nsteps;
  }
}

static void fill_links(const sap_dynamics* d, sap_placing* placing) {
  int32_t count = 0;
  for (int32_t l = 0; l < d->nlinks; ++l) {
    const sap_link* link = &d->links[l];
    if (link->lone) {
      continue;
    }
    sap_link_lanes* four = &placing->links[count / SAP_LANES];
    for (int lane = count % SAP_LANES; lane < SAP_LANES; ++lane) {  // and for those to come
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
    ++count;
  }
}

static bool allocate_links(const sap_dynamics* d, sap_placing* placing) {
  int32_t count = 0;
  for (int32_t l = 0; l < d->nlinks; ++l) {
    count += d->links[l].lone ? 0 : 1;
  }
  placing->nlinks = (count + SAP_LANES - 1) / SAP_LANES;
  placing->links = sap_allocate((size_t)placing->nlinks, sizeof *placing->links);
  return placing->links != NULL;
}

sap_status sap_placing_create(const sap_dynamics* d, sap_placing* placing, sap_error* error) {
  const size_t bodies = (size_t)d->model->sizes.bodies;
  int32_t* level = sap_allocate(bodies, sizeof *level);
  entry* entries = sap_allocate(bodies, sizeof *entries);
  bool complete = level != NULL && entries != NULL && allocate_links(d, placing);
  if (complete) {
    const int32_t count = sort_bodies(d->model, level, entries);
    make_steps(d, entries, count, placing);
    placing->fours = sap_allocate((size_t)placing->nfours, sizeof *placing->fours);
    placing->hinges = sap_allocate((size_t)placing->nhinges, sizeof *placing->hinges);
    placing->steps = sap_allocate((size_t)placing->nsteps, sizeof *placing->steps);
    complete = placing->fours != NULL && placing->hinges != NULL && placing->steps != NULL;
    if (complete) {
      make_steps(d, entries, count, placing);
      fill_links(d, placing);
    }
  }
  sap_free(level);
  sap_free(entries);
  return complete
             ? SAP_STATUS_OK
             : sap_fail(error, SAP_STATUS_MEMORY, "out of memory: placing of %zu bodies", bodies);
}

void sap_placing_clear(sap_placing* placing) {
  sap_free(placing->steps);
  sap_free(placing->fours);
  sap_free(placing->hinges);
  sap_free(placing->links);
  *placing = (sap_placing){0};
}
