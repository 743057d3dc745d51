// SPDX-License-Identifier: BSD-3-Clause
// Contact in patches (multibody/geometry/patch.h) of convex geoms, in place of MuJoCo's points.
//
// Geoms are the shapes of a model of their own, on free bodies, whose collision finds the patches
// of single pairs; MuJoCo tells which are near, by the hulls of meshes. A pair of a height field, a
// signed distance field or a flat mesh, with a margin or with anisotropic friction keeps points.
#include <string.h>

#include "math/vector3.h"
#include "mujoco/adapter.h"
#include "multibody/geometry/collision.h"

_Static_assert((int)SAP_MJ_PATCH_POINTS == (int)SAP_PATCH_CLUSTERS * (int)SAP_PATCH_POINTS,
               "room for all points of a pair");

// Adds a mesh; *id is -1 of a flat one, which has no hull.
static sap_status add_mesh(const mjModel* m, int32_t mesh, sap_builder* builder, int32_t* id,
                           sap_error* error) {
  const float* vertices = m->mesh_vert + 3 * m->mesh_vertadr[mesh];
  sap_mesh_def def = sap_mesh_def_default();
  double* points;
  def.vertex_count = m->mesh_vertnum[mesh];
  SAP_TRY(SAP_NEW(&points, 3 * (size_t)def.vertex_count, "mesh", error));
  for (int32_t i = 0; i < 3 * def.vertex_count; ++i) {
    points[i] = (double)vertices[i];
  }
  def.vertices = points;
  def.face_count = m->mesh_facenum[mesh];
  def.faces = m->mesh_face + 3 * m->mesh_faceadr[mesh];
  const sap_status status = sap_builder_add_mesh(builder, &def, id, NULL);
  sap_free(points);
  *id = status == SAP_STATUS_OK ? *id : -1;
  return status == SAP_STATUS_MEMORY ? sap_fail(error, status, "out of memory: mesh %d", mesh)
                                     : SAP_STATUS_OK;
}

static sap_status add_geom(const sap_mj* a, int32_t geom, const int32_t* meshes,
                           sap_builder* builder, int32_t* id, sap_error* error) {
  const mjModel* m = a->model;
  const int type = m->geom_type[geom];
  sap_shape_def def = sap_shape_def_default();
  def.type = sap_mj_shape_type(type);
  def.body = m->geom_bodyid[geom];
  def.material.modulus = a->options.patches;
  sap_v3_copy(def.p_BS, m->geom_pos + 3 * geom);
  memcpy(def.q_BS, m->geom_quat + 4 * geom, sizeof def.q_BS);
  if (def.type == SAP_SHAPE_MESH) {
    def.mesh = type == mjGEOM_MESH ? meshes[m->geom_dataid[geom]] : -1;
    SAP_RETURN_IF(def.mesh < 0, SAP_STATUS_OK);
  } else if (def.type != SAP_SHAPE_PLANE) {
    sap_v3_copy(def.size, m->geom_size + 3 * geom);
  }
  return sap_builder_add_shape(builder, &def, id, error);
}

static sap_status build(sap_mj* a, sap_builder* builder, int32_t* meshes, sap_error* error) {
  const mjModel* m = a->model;
  sap_body_def body = sap_body_def_default();
  sap_joint_def joint = sap_joint_def_default();
  body.mass = body.I_BCo_B[0] = body.I_BCo_B[1] = body.I_BCo_B[2] = 1.0;
  joint.type = SAP_JOINT_FREE;
  for (int32_t i = 1; i < (int32_t)m->nbody; ++i) {
    SAP_TRY(sap_builder_add_body(builder, &body, &joint.body, error));
    SAP_TRY(sap_builder_add_joint(builder, &joint, NULL, error));
  }
  for (int32_t i = 0; i < (int32_t)m->nmesh; ++i) {
    SAP_TRY(add_mesh(m, i, builder, &meshes[i], error));
  }
  for (int32_t g = 0; g < (int32_t)m->ngeom; ++g) {
    a->patches.shapes[g] = -1;
    SAP_TRY(add_geom(a, g, meshes, builder, &a->patches.shapes[g], error));
  }
  SAP_TRY(sap_builder_compile(builder, &a->patches.model, error));
  return sap_collision_create(a->patches.model, &a->patches.collision, error);
}

sap_status sap_mj_patches_create(sap_mj* a, sap_error* error) {
  const mjModel* m = a->model;
  sap_mj_patches* p = &a->patches;
  sap_builder* builder;
  int32_t* meshes;
  if (!(a->options.patches > 0.0)) {
    return SAP_STATUS_OK;
  }
  SAP_TRY(SAP_POOL_ADD_ALL(&a->pool, error, SAP_ARRAY(&p->shapes, m->ngeom),
                           SAP_ARRAY(&p->v0, 6 * m->nbody), SAP_ARRAY(&p->R, 9 * m->nbody),
                           SAP_ARRAY(&meshes, m->nmesh)));
  SAP_TRY(sap_builder_create(NULL, &builder, error));
  const sap_status status = build(a, builder, meshes, error);
  sap_builder_destroy(builder);
  return status;
}

bool sap_mj_patches_has(const sap_mj* a, const mjContact* c) {
  const sap_mj_patches* p = &a->patches;
  return p->collision != NULL && p->shapes[c->geom1] >= 0 && p->shapes[c->geom2] >= 0 &&
         c->includemargin == 0.0 && c->friction[0] == c->friction[1] &&
         c->friction[3] == c->friction[4];
}

// Makes the contact a copy of `like` at a point of a patch. A is the geom with the lower number.
static void set_point(const sap_patch_cluster* patch, double depth, int32_t i,
                      const mjContact* like, mjContact* contact) {
  const sap_manifold_point* point = &patch->points.points[i];
  double axes[9];
  *contact = *like;
  contact->exclude = 0;
  contact->dist = -depth;
  sap_v3_copy(contact->pos, point->p);
  sap_v3_scale(contact->frame, point->n, like->geom1 < like->geom2 ? 1.0 : -1.0);
  sap_m3_from_normal(axes, contact->frame);
  memcpy(contact->frame + 3, axes, 6 * sizeof(double));
  contact->solimp[0] = -patch->stiffness[i];
  contact->solimp[1] = -patch->features[i] - patch->area / (1.0 + patch->area);
  contact->solimp[2] = i - patch->points.count + 1;
  contact->solimp[3] = SAP_MJ_PATCH_MARK;
  contact->solimp[4] = point->phi;
  const double spin = patch->torsion * contact->friction[0];
  if (spin > (contact->dim > 3 ? contact->friction[2] : 0.0) && contact->dim > 1) {
    contact->dim = contact->dim > 4 ? contact->dim : 4;
    contact->friction[2] = spin;
  }
}

// Finds the patches of a pair; *count: number of points, unchanged if there are none and MuJoCo's
// points are those of the shapes.
static sap_status find(sap_mj* a, const mjData* d, const mjContact* like, sap_pair_patch* pair,
                       mjContact out[SAP_MJ_PATCH_POINTS], int32_t* count, sap_error* error) {
  sap_mj_patches* p = &a->patches;
  const sap_collision_query query = {.p_WB = d->xpos,
                                     .R_WB = p->R,
                                     .V_WB = a->ahead.motion,
                                     .V0_WB = p->v0,
                                     .dt = a->model->opt.timestep};
  const mjContact first = *like;  // may be in `out`
  const bool is_new = !(pair->extent.area > 0.0);
  for (int32_t side = 0; side < 2; ++side) {
    const bool swapped = like->geom1 > like->geom2;
    const int32_t geom = sap_mj_contact_geom(like, swapped ? 1 - side : side);
    const int32_t body = a->model->geom_bodyid[geom];
    pair->shapes[side] = p->shapes[geom];
    mju_transpose(p->R + 9 * body, d->xmat + 9 * body, 3, 3);
  }
  SAP_TRY(sap_collision_pair_patch(p->collision, &query, pair, error));
  *count = pair->found != NULL || pair->triangles ? 0 : *count;
  SAP_RETURN_IF(pair->found == NULL, SAP_STATUS_OK);
  SAP_EACH(const sap_patch_cluster, patch, pair->found->patches, pair->found->npatches) {
    for (int32_t i = 0; i < patch->points.count; ++i) {
      set_point(patch, pair->found->depth, i, &first, &out[(*count)++]);
    }
  }
  if (is_new) {
    SAP_TRY(SAP_ROOM(&a->pool, &p->pairs, p->pair_count + 1, error));
    p->pairs[p->pair_count++] = (sap_mj_patch_pair){first, pair->extent};
  }
  return SAP_STATUS_OK;
}

sap_status sap_mj_patches_find(sap_mj* a, const mjData* d, const mjContact* like, double* time,
                               mjContact out[SAP_MJ_PATCH_POINTS], int32_t* count,
                               sap_error* error) {
  sap_pair_patch pair = {.is_apart = true, .time = *time};
  SAP_TRY(find(a, d, like, &pair, out, count, error));
  *time = pair.time;
  return SAP_STATUS_OK;
}

sap_status sap_mj_patches_touch(sap_mj* a, const mjData* d, const mjContact* like, bool* touches,
                                bool* triangles, sap_error* error) {
  sap_mj_patches* p = &a->patches;
  sap_pair_patch pair = {.is_apart = false};
  int32_t count = 0;
  SAP_TRY(SAP_ROOM(&a->pool, &p->found, p->count + SAP_MJ_PATCH_POINTS, error));
  SAP_TRY(find(a, d, like, &pair, p->found + p->count, &count, error));
  p->count += count;
  *touches = count > 0;
  *triangles = pair.triangles;
  return SAP_STATUS_OK;
}

// Removes the contacts of a pair from mjData.
static void remove_pair(sap_mj* a, mjData* d, const mjContact* like) {
  sap_mj_part* parts = a->ahead.parts;
  int32_t kept = 0, next = 0, kept_parts = 0;
  for (int32_t i = 0; i < (int32_t)d->ncon; ++i) {
    const bool stays = d->contact[i].geom1 != like->geom1 || d->contact[i].geom2 != like->geom2;
    for (; next < a->ahead.part_count && parts[next].contact == i; ++next) {
      parts[kept_parts] = parts[next];
      parts[kept_parts].contact = kept;
      kept_parts += stays;
    }
    d->contact[kept] = d->contact[i];
    kept += stays;
  }
  d->ncon = kept;
  a->ahead.part_count = kept_parts;
}

sap_status sap_mj_patches_grow(sap_mj* a, mjData* d, bool* added, sap_error* error) {
  mjContact* found = a->ahead.found;
  SAP_EACH(sap_mj_patch_pair, of, a->patches.pairs, a->patches.pair_count) {
    sap_pair_patch pair = {.is_apart = true, .extent = of->extent};
    int32_t count = 0;
    SAP_TRY(find(a, d, &of->like, &pair, found, &count, error));
    if (count == 0) {
      continue;
    }
    of->extent = pair.extent;
    *added = true;
    remove_pair(a, d, &of->like);
    for (int32_t k = 0; k < count; ++k) {
      SAP_TRY(sap_mj_ahead_append(a, d, pair.time, &found[k], error));
    }
  }
  return SAP_STATUS_OK;
}
