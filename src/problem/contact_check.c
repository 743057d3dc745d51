// SPDX-License-Identifier: BSD-3-Clause
// Is what comes as a contact one?
#include <math.h>

#include "problem/problem_data.h"

static sap_status check_friction(const sap_problem* p, const sap_contact_block* c, int32_t nrows,
                                 sap_error* error) {
  if (nrows != 3 && nrows != 4 && nrows != 6) {
    return sap_fail(error, SAP_STATUS_ARGUMENT, "block %d: a contact has 3, 4 or 6 rows, not %d",
                    p->nblocks, nrows);
  }
  if (nrows > 3 && (c->friction == NULL || c->angular == NULL)) {
    return sap_fail(error, SAP_STATUS_ARGUMENT,
                    "block %d: a contact with %d rows needs friction and angular", p->nblocks,
                    nrows);
  }
  for (int32_t i = 0; c->friction != NULL && i < nrows - 1; ++i) {
    if (!isfinite(c->friction[i]) || !(c->friction[i] >= 0.0)) {
      return sap_fail(error, isfinite(c->friction[i]) ? SAP_STATUS_ARGUMENT : SAP_STATUS_NOT_FINITE,
                      "block %d: friction[%d] = %g must be finite and >= 0", p->nblocks, i,
                      c->friction[i]);
    }
  }
  return SAP_STATUS_OK;
}

// Velocities and the gap that come with a contact.
static sap_status check_motion(const sap_problem* p, const sap_contact_block* c, sap_error* error) {
  const double *u = c->surface_velocity, *dv = c->velocity_change;
  if (isfinite(u[0] + u[1] + u[2] + dv[0] + dv[1] + dv[2] + c->gap_change)) {
    return SAP_STATUS_OK;  // so is each of them
  }
  sap_status status = sap_check_numbers("surface_velocity", c->surface_velocity, 3, error);
  if (status == SAP_STATUS_OK) {
    status = sap_check_numbers("velocity_change", c->velocity_change, 3, error);
  }
  if (status == SAP_STATUS_OK && !isfinite(c->gap_change)) {
    status =
        sap_fail(error, SAP_STATUS_NOT_FINITE, "gap_change = %g must be finite", c->gap_change);
  }
  if (status != SAP_STATUS_OK) {
    sap_error_prefix(error, "block %d", p->nblocks);
  }
  return status;
}

sap_block sap_contact_linear_part(const sap_contact_block* contact) {
  return (sap_block){.nrows = 3,
                     .ntrees = contact->ntrees,
                     .trees = contact->trees,
                     .jacobians = contact->jacobians};
}

int32_t sap_contact_rows(const sap_contact_block* contact) {
  return contact->nrows == 0 ? 3 : contact->nrows;
}

sap_status sap_problem_check_contact(const sap_problem* p, const sap_contact_block* contact,
                                     sap_error* error) {
  const int32_t nrows = sap_contact_rows(contact);
  sap_block part = sap_contact_linear_part(contact);
  sap_status status = check_friction(p, contact, nrows, error);
  if (status == SAP_STATUS_OK) {
    status = check_motion(p, contact, error);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_problem_check_shape(p, &part, error);
  }
  if (status == SAP_STATUS_OK && nrows > 3) {
    part.nrows = nrows - 3;
    part.jacobians = contact->angular;
    status = sap_problem_check_jacobians(p, &part, error);
  }
  return status;
}
