// SPDX-License-Identifier: BSD-3-Clause
// Manifolds of the pairs, and contacts from them, by jobs of a few dozen pairs.
#include "multibody/geometry/collision_data.h"

// Pairs that are done at once: what the jobs keep stays in the cache; threads rarely wait for each
// other, and not at all for a few pairs.
enum { BLOCK_JOBS = 16, THREADED_BLOCK_JOBS = 64, FEW_JOBS = 4 };

// Distance at which the pair's contacts are found: its rest distance and its margin, or the height
// at which they glide. *cursor moves along the glides.
static double reach_of(const sap_collision* c, const sap_shape_pair* of, int32_t* cursor) {
  const uint64_t pair = of->pair;
  const sap_collision_shape *a = &c->shapes[pair >> 32], *b = &c->shapes[pair & UINT32_MAX];
  sap_near_pair made;
  const sap_near_pair* near = &made;
  if (of->near >= 0) {
    near = &c->near[c->near_now][of->near];
  } else {
    made = sap_collision_near_pair(c, pair);
  }
  const double margin = sap_most(near->margin, a->way + b->way);
  while (*cursor < c->glide_count && c->glides[*cursor].pair < pair) {
    ++*cursor;
  }
  const bool glides = *cursor < c->glide_count && c->glides[*cursor].pair == pair;
  return near->rest + (glides ? sap_most(margin, c->glides[*cursor].reach) : margin);
}

// Where surfaces may sink into each other: drops the points above that depth.
static void drop_shallow(double reach, sap_manifold* manifold) {
  int32_t kept = 0;
  for (int32_t i = 0; i < manifold->count; ++i) {
    if (manifold->points[i].phi < reach) {
      manifold->points[kept++] = manifold->points[i];
    }
  }
  manifold->count = kept;
}

typedef struct block {
  sap_collision* c;
  const sap_collision_query* query;
} block;

// The pairs of a job: most are apart, many along the direction that was found last.
static void collide_pairs(void* context, int32_t index) {
  const sap_collision* c = ((const block*)context)->c;
  sap_pair_job* job = &c->jobs[index];
  sap_near_pair* near = c->near[c->near_now];
  int32_t cursor = sap_collision_first_of(c->glides, c->glide_count, sizeof *c->glides,
                                          c->pairs[job->first].pair);
  job->nmanifolds = job->npoints = 0;
  for (int32_t i = job->first; i < job->first + job->count; ++i) {
    const sap_shape_pair* of = &c->pairs[i];
    const sap_placed_shape* a = &c->shapes[of->pair >> 32].placed;
    const sap_placed_shape* b = &c->shapes[of->pair & UINT32_MAX].placed;
    const double asked = reach_of(c, of, &cursor), reach = sap_most(asked, 0.0);
    if (of->near >= 0 && sap_collide_are_apart(a, b, reach, near[of->near].along)) {
      continue;
    }
    sap_manifold* manifold = &job->manifolds[job->nmanifolds];
    sap_collide(a, b, reach, manifold);
    if (asked < 0.0) {
      drop_shallow(asked, manifold);
    }
    if (manifold->count > 0) {
      job->pairs[job->nmanifolds++] = of->pair;
      job->npoints += manifold->count;
    }
    if (of->near >= 0) {
      sap_v3_copy(near[of->near].along, manifold->apart);
    }
  }
}

static void add_manifolds(void* context, int32_t index) {
  const block* of = context;
  sap_collision* c = of->c;
  sap_pair_job* job = &c->jobs[index];
  const sap_identity* old = c->identities[c->last];
  int32_t cursor = job->nmanifolds > 0
                       ? sap_collision_first_of(old, c->last_count, sizeof *old, job->pairs[0])
                       : 0;
  int32_t at = job->first_contact;
  job->status = SAP_STATUS_OK;
  for (int32_t i = 0; job->status == SAP_STATUS_OK && i < job->nmanifolds; ++i) {
    const sap_contact_place place = {of->query, job->pairs[i], at};
    job->status = sap_collision_set_contacts(c, &place, &job->manifolds[i], &cursor, &job->error);
    at += job->manifolds[i].count;
  }
}

// Room for the contacts of the jobs, which learn where theirs begin.
static sap_status make_room(sap_collision* c, int32_t njobs, sap_error* error) {
  const int32_t next = 1 - c->last;
  int32_t contacts = c->contact_count;
  for (int32_t k = 0; k < njobs; ++k) {
    sap_pair_job* job = &c->jobs[k];
    job->first_contact = contacts;
    if (contacts > INT32_MAX - job->npoints) {
      return sap_fail(error, SAP_STATUS_MEMORY, "out of memory: contacts");
    }
    contacts += job->npoints;
  }
  SAP_TRY(SAP_GROW(&c->contacts, &c->contact_capacity, contacts, error));
  return SAP_GROW(&c->identities[next], &c->identity_capacity[next], contacts, error);
}

static sap_status collide_block(sap_collision* c, const sap_collision_query* query, int32_t njobs,
                                sap_error* error) {
  block of = {c, query};
  sap_threads* threads = njobs > FEW_JOBS ? c->threads : NULL;
  sap_threads_run(threads, njobs, collide_pairs, &of);
  sap_status status = make_room(c, njobs, error);
  if (status != SAP_STATUS_OK) {
    return status;
  }
  sap_threads_run(threads, njobs, add_manifolds, &of);
  for (int32_t k = 0; k < njobs; ++k) {
    const sap_pair_job* job = &c->jobs[k];
    c->contact_count += job->npoints;
    if (job->status != SAP_STATUS_OK) {
      *error = job->error;
      return job->status;
    }
  }
  return SAP_STATUS_OK;
}

sap_status sap_collision_collide(sap_collision* c, const sap_collision_query* query,
                                 sap_error* error) {
  const int32_t needed = (c->pair_count - 1) / SAP_JOB_PAIRS + 1;
  const int32_t most = c->threads != NULL ? THREADED_BLOCK_JOBS : BLOCK_JOBS;
  SAP_TRY(SAP_GROW(&c->jobs, &c->job_capacity, needed < most ? needed : most, error));
  c->contact_count = 0;
  for (int32_t at = 0; at < c->pair_count;) {
    int32_t njobs = 0;
    for (; njobs < most && at < c->pair_count; ++njobs) {
      const int32_t left = c->pair_count - at;
      c->jobs[njobs].first = at;
      c->jobs[njobs].count = left < SAP_JOB_PAIRS ? left : (int32_t)SAP_JOB_PAIRS;
      at += c->jobs[njobs].count;
    }
    SAP_TRY(collide_block(c, query, njobs, error));
  }
  return SAP_STATUS_OK;
}
