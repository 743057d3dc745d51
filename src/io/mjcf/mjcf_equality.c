// SPDX-License-Identifier: BSD-3-Clause
// <equality>: connect, weld, joint, tendon. What MuJoCo takes from the default pose (the anchor on
// the second body, the relative pose of a weld) is found here.
#include <string.h>

#include "io/mjcf/mjcf_instance.h"
#include "io/xml/number.h"
#include "io/xml/schema.h"
#include "math/quaternion.h"

static void world_pose(const sap_mjcf_reader* r, int32_t body, sap_pose* out) {
  *out = sap_pose_identity;
  for (int32_t b = body; b > 0; b = r->places[b].parent) {
    sap_pose_compose(out, &r->places[b].pose, out);
  }
}

// Pose of body b in body a, in the default pose.
static void relative_pose(const sap_mjcf_reader* r, int32_t a, int32_t b, sap_pose* out) {
  sap_pose A, B;
  double back[4];
  world_pose(r, a, &A);
  world_pose(r, b, &B);
  sap_quaternion_conjugate(back, A.q);
  sap_v3_sub(out->p, B.p, A.p);
  sap_quaternion_rotate(out->p, back, out->p);
  sap_quaternion_multiply(out->q, back, B.q);
}

static void transform(const sap_pose* pose, const double in[3], double out[3]) {
  sap_quaternion_place(out, pose->p, pose->q, in);
}

// With sites the frames are theirs; true when the element names sites.
static bool between_sites(const sap_mjcf_reader* r, const sap_mjcf_instance* i,
                          sap_equality_def* def) {
  if (sap_xml_get(i->node, "site1") == NULL) {
    return false;
  }
  const sap_mjcf_site* a = &r->sites[i->ids[0]];
  const sap_mjcf_site* b = &r->sites[i->ids[1]];
  double back[4];
  def->a = a->body;
  def->b = b->body;
  sap_v3_copy(def->anchor_A, a->pose.p);
  sap_v3_copy(def->anchor_B, b->pose.p);
  sap_quaternion_conjugate(back, b->pose.q);  // the sites' frames coincide: R_AS1 = R_AB R_BS2
  sap_quaternion_multiply(def->q_AB, a->pose.q, back);
  return true;
}

static sap_status read_bodies(sap_mjcf_reader* r, const sap_mjcf_instance* i,
                              sap_equality_def* def) {
  if (sap_xml_get(i->node, "body1") == NULL) {
    return sap_xml_fail(i->node, NULL, SAP_STATUS_SYNTAX, r->error,
                        "must name body1, or site1 and site2");
  }
  def->a = i->ids[0];
  def->b = sap_xml_get(i->node, "body2") != NULL ? i->ids[1] : 0;
  return SAP_STATUS_OK;
}

static sap_status read_connect(sap_mjcf_reader* r, const sap_mjcf_instance* i,
                               sap_equality_def* def) {
  def->type = SAP_EQUALITY_CONNECT;
  if (between_sites(r, i, def)) {
    return SAP_STATUS_OK;
  }
  sap_status status = read_bodies(r, i, def);
  if (status == SAP_STATUS_OK) {
    status = sap_xml_numbers(i->node, "anchor", 3, 3, def->anchor_A, NULL, r->error);
  }
  sap_pose BA;
  if (status == SAP_STATUS_OK) {
    relative_pose(r, def->b, def->a, &BA);
    transform(&BA, def->anchor_A, def->anchor_B);
  }
  return status;
}

static sap_status read_weld(sap_mjcf_reader* r, const sap_mjcf_instance* i, sap_equality_def* def) {
  def->type = SAP_EQUALITY_WELD;
  sap_status status = sap_xml_optional(i->node, "torquescale", 1, 1, &def->torque_scale, r->error);
  if (status != SAP_STATUS_OK || between_sites(r, i, def)) {
    return status;
  }
  double x[7] = {0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0};
  status = read_bodies(r, i, def);
  if (status == SAP_STATUS_OK) {
    status = sap_xml_optional(i->node, "anchor", 3, 3, def->anchor_B, r->error);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_xml_optional(i->node, "relpose", 7, 7, x, r->error);
  }
  if (status != SAP_STATUS_OK) {
    return status;
  }
  sap_pose AB;
  memcpy(AB.p, x, sizeof AB.p);
  memcpy(AB.q, x + 3, sizeof AB.q);
  if (sap_quaternion_normalize(AB.q)) {
    sap_v3_copy(def->anchor_A, AB.p);  // MuJoCo's: where body1 has the anchor
  } else {                             // a zero quaternion: the default pose
    relative_pose(r, def->a, def->b, &AB);
    transform(&AB, def->anchor_B, def->anchor_A);
  }
  memcpy(def->q_AB, AB.q, sizeof AB.q);
  return SAP_STATUS_OK;
}

static sap_status read_coupler(sap_mjcf_reader* r, const sap_mjcf_instance* i,
                               sap_equality_def* def) {
  const bool joint = sap_xml_is(i->node, "joint");
  const char* first = joint ? "joint1" : "tendon1";
  def->type = joint ? SAP_EQUALITY_JOINT : SAP_EQUALITY_TENDON;
  if (sap_xml_get(i->node, first) == NULL) {
    return sap_xml_fail(i->node, NULL, SAP_STATUS_SYNTAX, r->error, "attribute '%s' is missing",
                        first);
  }
  def->a = i->ids[0];
  def->b = sap_xml_get(i->node, joint ? "joint2" : "tendon2") != NULL ? i->ids[1] : -1;
  return sap_xml_optional(i->node, "polycoef", 1, 5, def->polynomial, r->error);
}

// active, and solref: a negative one is {-k, -d}; positive ones are MuJoCo's solver tuning.
static sap_status read_defaults(sap_mjcf_reader* r, const sap_mjcf_instance* i,
                                sap_equality_def* def) {
  const sap_mjcf_scope scope = {.model = r->spaces[i->space].model, .child_class = -1};
  sap_mjcf_sources s;
  int32_t active = 1;
  double solref[2] = {0.02, 1.0};
  sap_status status = sap_mjcf_find_sources(r, i->node, "equality", &scope, &s);
  if (status == SAP_STATUS_OK) {
    status = sap_mjcf_choice(r, &s, "active", "false true", &active);
  }
  if (status == SAP_STATUS_OK) {
    status = sap_mjcf_numbers(r, &s, "solref", (const int32_t[]){1, 2}, solref, NULL);
  }
  def->active = active == 1;
  (void)sap_mjcf_take_solref(solref, &def->stiffness, &def->relaxation_time);
  return status;
}

sap_status sap_mjcf_add_equality(sap_mjcf_reader* r, const sap_mjcf_instance* i) {
  sap_equality_def def = sap_equality_def_default();
  sap_status status = read_defaults(r, i, &def);
  if (status != SAP_STATUS_OK) {
    return status;
  }
  def.active = def.active && !r->disabled.equality;
  const int32_t kind = sap_word_index("connect weld joint tendon", i->node->name);
  if (kind < 0) {
    return def.active ? sap_scene_unsupported(r->options, i->node, NULL,
                                              "this equality is not supported", r->error)
                      : SAP_STATUS_OK;
  }
  status = kind == 0   ? read_connect(r, i, &def)
           : kind == 1 ? read_weld(r, i, &def)
                       : read_coupler(r, i, &def);
  if (status == SAP_STATUS_OK) {
    status = sap_mjcf_full_name(r, i->space, sap_xml_get(i->node, "name"), &def.name);
  }
  return status == SAP_STATUS_OK
             ? sap_xml_locate(i->node, sap_builder_add_equality(r->builder, &def, NULL, r->error),
                              r->error)
             : status;
}
