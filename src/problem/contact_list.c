// SPDX-License-Identifier: BSD-3-Clause
// Contacts added at once. Each is checked, made and put to its place on its own, so that threads
// can do it side by side; what they share, the factors of trees, is made before. Where anything is
// not as it should be, all of it is done once more, one after the other, to say what.
#include "core/memory.h"
#include "problem/tree_factor.h"

enum {
  CHECK_WORK = 200,    // instructions of a check, about
  CONTACT_WORK = 600,  // and of a contact, beside
  COLUMN_WORK = 70,    // those of each velocity of its trees
  FACTOR_WORK = 8,     // of a tree's factor, times the square of its velocities
};

// A run of contacts.
typedef struct sap_contact_job {
  sap_block_place at;  // of the first
  bool failed;
} sap_contact_job;

typedef struct contact_list {
  sap_problem* problem;
  const sap_contact_block* contacts;
  int32_t count, njobs;
  const sap_regularization* regularization;
  sap_block_place end;
  int64_t room;  // of sap_contact_work, enough for each, in whole cache lines
  int32_t most_trees;
  int32_t nwanted;
  int64_t factor_work;  // of the wanted trees
} contact_list;

static void check_job(void* context, int32_t index) {
  const contact_list* list = context;
  sap_contact_job* job = &list->problem->cache->jobs[index];
  const int32_t end = sap_job_first(list->count, list->njobs, index + 1);
  job->failed = false;
  for (int32_t i = sap_job_first(list->count, list->njobs, index); i < end && !job->failed; ++i) {
    job->failed =
        sap_problem_check_contact(list->problem, &list->contacts[i], NULL) != SAP_STATUS_OK;
  }
}

static void put_job(void* context, int32_t index) {
  const contact_list* list = context;
  sap_problem* p = list->problem;
  sap_contact_job* job = &p->cache->jobs[index];
  const sap_contact_work work = {p->cache->scratch + list->room * index,
                                 p->cache->views + (size_t)list->most_trees * (size_t)index};
  const int32_t end = sap_job_first(list->count, list->njobs, index + 1);
  sap_block_place at = job->at;
  for (int32_t i = sap_job_first(list->count, list->njobs, index); i < end && !job->failed; ++i) {
    const sap_contact_block* c = &list->contacts[i];
    job->failed =
        sap_problem_put_contact(p, c, list->regularization, &work, &at, NULL) != SAP_STATUS_OK;
    sap_problem_pass_block(p, sap_contact_rows(c), c->ntrees, c->trees, &at);
  }
}

static bool any_failed(const contact_list* list) {
  for (int32_t k = 0; k < list->njobs; ++k) {
    if (list->problem->cache->jobs[k].failed) {
      return true;
    }
  }
  return false;
}

static sap_factor_state state_of(const sap_problem* p, int32_t tree) {
  return p->tree_size[tree] > SAP_SMALL_TREE ? p->cache->branch_state[tree]
                                             : p->cache->factor_state[tree];
}

// Places of the jobs, rooms, and the trees whose factors are not there.
static void walk(contact_list* list) {
  const sap_problem* p = list->problem;
  sap_problem_cache* cache = p->cache;
  list->end = sap_problem_end(p);
  list->room = list->factor_work = 0;
  list->most_trees = list->nwanted = 0;
  int32_t job = 0;
  for (int32_t i = 0; i < list->count; ++i) {
    const sap_contact_block* c = &list->contacts[i];
    const int32_t nrows = sap_contact_rows(c);
    if (i == sap_job_first(list->count, list->njobs, job)) {
      cache->jobs[job++].at = list->end;
    }
    sap_problem_pass_block(p, nrows, c->ntrees, c->trees, &list->end);
    const int64_t room = sap_contact_room(p, nrows, c->ntrees, c->trees);
    list->room = room > list->room ? room : list->room;
    list->most_trees = c->ntrees > list->most_trees ? c->ntrees : list->most_trees;
    for (int32_t t = 0; t < c->ntrees && !p->has_mobility; ++t) {
      const int32_t tree = c->trees[t];
      if (!cache->is_wanted[tree] && state_of(p, tree) != SAP_FACTOR_VALID) {
        cache->is_wanted[tree] = true;
        cache->wanted[list->nwanted++] = tree;
        list->factor_work += FACTOR_WORK * (int64_t)p->tree_size[tree] * p->tree_size[tree];
      }
    }
  }
  list->room = (list->room + 7) / 8 * 8;
}

static void factor_trees(void* context, int32_t first, int32_t end) {
  const contact_list* list = context;
  const sap_problem* p = list->problem;
  for (int32_t k = first; k < end; ++k) {
    const int32_t tree = p->cache->wanted[k];
    const double* L;
    sap_branch_factor factor;
    p->cache->is_wanted[tree] = false;
    if (p->tree_size[tree] > SAP_SMALL_TREE) {
      (void)sap_problem_branch_factor(p, tree, &factor, NULL);
    } else {
      (void)sap_problem_tree_factor(p, tree, &L, NULL);
    }
  }
}

static bool have_factors(const contact_list* list) {
  for (int32_t k = 0; k < list->nwanted; ++k) {
    if (state_of(list->problem, list->problem->cache->wanted[k]) != SAP_FACTOR_VALID) {
      return false;
    }
  }
  return true;
}

static sap_status add_one_by_one(const contact_list* list, sap_error* error) {
  sap_status status = SAP_STATUS_OK;
  for (int32_t i = 0; status == SAP_STATUS_OK && i < list->count; ++i) {
    status =
        sap_problem_add_contact(list->problem, &list->contacts[i], list->regularization, error);
  }
  return status;
}

static sap_status reserve(const contact_list* list, sap_error* error) {
  sap_problem* p = list->problem;
  sap_problem_cache* cache = p->cache;
  sap_status status =
      SAP_RESERVE(&cache->scratch, &cache->scratch_capacity, list->room * list->njobs, error);
  if (status == SAP_STATUS_OK) {
    status = SAP_RESERVE(&cache->views, &cache->views_capacity,
                         (int64_t)list->most_trees * list->njobs, error);
  }
  return status == SAP_STATUS_OK ? sap_problem_reserve_blocks(p, &list->end, error) : status;
}

// Whether it went well; nothing has been added otherwise.
static bool add_side_by_side(contact_list* list) {
  sap_problem* p = list->problem;
  sap_problem_cache* cache = p->cache;
  if (SAP_GROW(&cache->jobs, &cache->job_capacity, list->njobs, NULL) != SAP_STATUS_OK ||
      SAP_GROW(&cache->wanted, &cache->wanted_capacity, p->ntrees, NULL) != SAP_STATUS_OK ||
      SAP_GROW(&cache->is_wanted, &cache->is_wanted_capacity, p->ntrees, NULL) != SAP_STATUS_OK) {
    return false;
  }
  sap_threads_run(p->threads, list->njobs, check_job, list);
  if (any_failed(list)) {
    return false;
  }
  walk(list);
  const bool room = reserve(list, NULL) == SAP_STATUS_OK;
  sap_threads_run_parts(p->threads, list->nwanted, list->factor_work, factor_trees, list);
  if (!room || !have_factors(list)) {
    return false;
  }
  sap_threads_run(p->threads, list->njobs, put_job, list);
  if (any_failed(list)) {
    return false;
  }
  sap_problem_set_end(p, &list->end);
  return true;
}

// Of a contact, by the trees of the first.
static int64_t work_of(const sap_problem* p, const sap_contact_block* c) {
  int64_t columns = 0;
  for (int32_t t = 0; c->trees != NULL && t < c->ntrees; ++t) {
    columns += sap_problem_tree_size(p, c->trees[t]);
  }
  return CHECK_WORK + CONTACT_WORK + COLUMN_WORK * columns;
}

sap_status sap_problem_add_contacts(sap_problem* p, const sap_contact_block* contacts,
                                    int32_t count, const sap_regularization* regularization,
                                    sap_error* error) {
  if (p == NULL || (contacts == NULL && count > 0) || regularization == NULL || count < 0) {
    return sap_fail(error, SAP_STATUS_ARGUMENT,
                    "sap_problem_add_contacts: an argument is NULL, or count = %d is negative",
                    (int)count);
  }
  contact_list list = {
      .problem = p, .contacts = contacts, .count = count, .regularization = regularization};
  list.njobs =
      count > 0 ? sap_threads_divide(p->threads, count, count * work_of(p, &contacts[0])) : 1;
  if (list.njobs > 1 && add_side_by_side(&list)) {
    return SAP_STATUS_OK;
  }
  return add_one_by_one(&list, error);
}
