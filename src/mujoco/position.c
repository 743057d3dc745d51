// SPDX-License-Identifier: BSD-3-Clause
// mj_fwdPosition with wider margins: contacts that close within the step (ahead.c), and limits, are
// detected before they are reached. Both have their constraint rows in mjData, with MuJoCo's own
// margins and zero force until they act.
//   Place: the two compliances decide the contact point, on the rigid one's surface. MuJoCo puts it
//   half way.
#include <math.h>
#include <string.h>

#include "math/vector3.h"
#include "mujoco/adapter.h"

// Widens the margins to the ways of the bodies, in copies that the shadow points to.
static void widen_contacts(sap_mj* a) {
  const mjModel* m = a->model;
  mjModel* s = &a->shadow;
  const double* reach = a->ahead.reach;
  double largest = 0.0, own = 0.0;
  for (int32_t i = 0; i < (int32_t)m->ngeom; ++i) {
    largest = fmax(largest, reach[m->geom_bodyid[i]]);
    own = fmax(own, m->geom_margin[i]);
  }
  memset(a->margins.body, 0, (size_t)m->nbody * sizeof(mjtNum));
  for (int32_t i = 0; i < (int32_t)m->ngeom; ++i) {
    const int32_t body = m->geom_bodyid[i];
#if SAP_MJ_SINCE(3, 5, 0)
    a->margins.geom[i] = m->geom_margin[i] + reach[body];
#else  // a pair has the larger margin
    a->margins.geom[i] = reach[body] > 0.0 ? own + 2.0 * reach[body] : m->geom_margin[i];
#endif
    a->margins.body[body] = fmax(a->margins.body[body], a->margins.geom[i] + m->geom_gap[i]);
  }
  for (int32_t i = 0; i < (int32_t)m->npair; ++i) {
    a->margins.pair[i] = m->pair_margin[i] + reach[m->geom_bodyid[m->pair_geom1[i]]] +
                         reach[m->geom_bodyid[m->pair_geom2[i]]];
  }
  s->geom_margin = a->margins.geom;
  s->pair_margin = a->margins.pair;
#if SAP_MJ_SINCE(3, 0, 0)
  s->body_margin = a->margins.body;
#endif
  s->opt.o_margin = m->opt.o_margin + 2.0 * largest;
}

// A limit is detected within this share of the range, or when this many (h + tau_d) |v| reach it,
// as in our own models.
static const double LIMIT_RANGE_SHARE = 0.1;
static const double LIMIT_HORIZONS = 4.0;

static void widen_limits(sap_mj* a, const mjData* d) {
  const mjModel* m = a->model;
  const double h = m->opt.timestep;
  for (int32_t j = 0; j < (int32_t)m->njnt; ++j) {
    a->margins.joint[j] = m->jnt_margin[j];
    if (!m->jnt_limited[j]) {
      continue;
    }
    const mjtNum *range = m->jnt_range + 2 * j, *v = d->qvel + m->jnt_dofadr[j];
    const bool ball = m->jnt_type[j] == mjJNT_BALL;
    const double width = ball ? range[1] : range[1] - range[0];
    const double speed = ball ? sap_v3_norm(v) : fabs(v[0]);
    const double horizon = LIMIT_HORIZONS * (h + a->materials.joints[j].relaxation_time);
    a->margins.joint[j] += fmax(LIMIT_RANGE_SHARE * width, horizon * speed);
  }
  for (int32_t t = 0; t < (int32_t)m->ntendon; ++t) {
    const mjtNum* range = m->tendon_range + 2 * t;
    a->margins.tendon[t] = m->tendon_margin[t];
    if (m->tendon_limited[t]) {  // ten_velocity is that of the step before: uses the range alone
      a->margins.tendon[t] += LIMIT_RANGE_SHARE * (range[1] - range[0]);
    }
  }
  a->shadow.jnt_margin = a->margins.joint;
  a->shadow.tendon_margin = a->margins.tendon;
}

void sap_mj_position_own_margins(const mjModel* m, const mjContact* c, double* force,
                                 double* detect) {
  const int32_t g1 = c->geom1, g2 = c->geom2, pair = sap_mj_materials_find_pair(m, g1, g2);
  double margin, gap;
  if (pair >= 0) {
    margin = m->pair_margin[pair];
    gap = m->pair_gap[pair];
  } else {
    margin = SAP_MJ_COMBINE(m->geom_margin[g1], m->geom_margin[g2]);
    gap = SAP_MJ_COMBINE(m->geom_gap[g1], m->geom_gap[g2]);
  }
  if ((m->opt.enableflags & mjENBL_OVERRIDE) != 0) {
    margin = m->opt.o_margin;
  }
#if SAP_MJ_SINCE(3, 9, 0)
  *force = margin;
  *detect = margin + gap;
#else
  *force = margin - gap;
  *detect = margin;
#endif
}

bool sap_mj_position_is_exact(const mjModel* m, const mjContact* c) {
  bool exact = true;
#if SAP_MJ_SINCE(3, 3, 0)
  const bool native = (m->opt.disableflags & mjDSBL_NATIVECCD) == 0;
#else
  const bool native = false;
#endif
  for (int32_t side = 0; side < 2; ++side) {
    const int type = m->geom_type[sap_mj_contact_geom(c, side)];
    if (type == mjGEOM_PLANE) {
      return true;
    }
    exact =
        exact &&
        (type == mjGEOM_SPHERE || type == mjGEOM_CAPSULE || type == mjGEOM_BOX ||
         (native && (type == mjGEOM_ELLIPSOID || type == mjGEOM_CYLINDER || type == mjGEOM_MESH)));
  }
  return exact;
}

void sap_mj_position_place(const sap_mj* a, mjContact* c) {
  const double shift = (sap_mj_materials_contact_share(a, c) - 0.5) * (c->dist - c->includemargin);
  sap_v3_add_scaled(c->pos, c->frame, shift);
}

void sap_mj_position_straighten(mjtNum R[9]) {
  const double norm = sqrt(R[2] * R[2] + R[5] * R[5] + R[8] * R[8]);
  for (int k = 2; k < 9; k += 3) {
    R[k] /= norm;
  }
}

static void update_kinematics(const mjModel* m, mjData* d) {
#if SAP_MJ_SINCE(3, 5, 0)
  d->flg_energypos = d->flg_energyvel = 0;  // sensors evaluate the energy again
#endif
#if SAP_MJ_SINCE(3, 4, 0)
  mj_fwdKinematics(m, d);
#else
  mj_kinematics(m, d);
  mj_comPos(m, d);
  mj_camlight(m, d);
  mj_tendon(m, d);
#endif
  for (int32_t g = 0; g < (int32_t)m->ngeom; ++g) {
    if (m->geom_type[g] == mjGEOM_CYLINDER || m->geom_type[g] == mjGEOM_PLANE) {
      sap_mj_position_straighten(d->geom_xmat + 9 * g);
    }
  }
#if SAP_MJ_SINCE(3, 3, 3)
  mj_makeM(m, d);
#else
  mj_crb(m, d);
#endif
  mj_factorM(m, d);
}

void sap_mj_position_make_rows(sap_mj* a, mjData* d) {
  mj_makeConstraint(&a->shadow, d);
  for (int32_t i = 0; i < (int32_t)d->nefc; ++i) {  // limits have the model's own margins
    if (d->efc_type[i] == mjCNSTR_LIMIT_JOINT) {
      d->efc_margin[i] = a->model->jnt_margin[d->efc_id[i]];
    } else if (d->efc_type[i] == mjCNSTR_LIMIT_TENDON) {
      d->efc_margin[i] = a->model->tendon_margin[d->efc_id[i]];
    }
  }
#if SAP_MJ_SINCE(3, 0, 0)
  d->nisland = 0;
#endif
}

sap_status sap_mj_position_collide(sap_mj* a, mjData* d, sap_error* error) {
  const mjWarningStat before = d->warning[mjWARN_CONTACTFULL];
  widen_contacts(a);
  mjWarningStat* warning = &d->warning[mjWARN_CONTACTFULL];
  warning->number += a->ahead.is_narrow ? 0 : 1;  // MuJoCo prints the first one
  const int number = warning->number;
  mj_collision(&a->shadow, d);
  const bool is_full = warning->number != number;
  if (!a->ahead.is_narrow) {
    *warning = before;
  }
  if (is_full && !a->ahead.is_narrow) {  // no room for what is apart
    memset(a->ahead.reach, 0, (size_t)a->model->nbody * sizeof(double));
    a->ahead.is_narrow = true;
    widen_contacts(a);
    mj_collision(&a->shadow, d);
  }
  SAP_TRY(sap_mj_ahead_settle(a, d, error));
  sap_mj_position_make_rows(a, d);
  return SAP_STATUS_OK;
}

sap_status sap_mj_position_update(sap_mj* a, mjData* d, sap_error* error) {
  update_kinematics(&a->shadow, d);
  sap_mj_ahead_begin(a, d);
  widen_limits(a, d);
  SAP_TRY(sap_mj_position_collide(a, d, error));
  mj_transmission(&a->shadow, d);
  return SAP_STATUS_OK;
}
