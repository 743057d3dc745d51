// SPDX-License-Identifier: BSD-3-Clause
// Elements between links that are not in URDF's tree of joints, and the frames that they name.
//   <drake:ball_constraint>           two points coincide
//   <loop_joint> (Isaac Sim), with poses in two links and a type
//     spherical, ball                 the two origins coincide
//     fixed                           the axes coincide too
//     revolute, continuous            a second point on the axis (of the first link's frame)
//                                     coincides too: two connects; one of the six rows is
//                                     redundant, which R > 0 allows
//   <drake:linear_bushing_rpy>        moments along frame A of the rotation vector, where Drake has
//                                     roll, pitch and yaw: equal to first order in the angles
//   <drake:linear_spring_damper>
//   <drake:tendon_constraint>
//   <drake:collision_filter_group>    no contact between links of two groups, one of which ignores
//                                     the other, or within a group that ignores itself
#include <math.h>
#include <string.h>

#include "io/urdf/urdf.h"
#include "math/quaternion.h"
#include "math/vector3.h"

static const double axis_length = 0.1;  // between the two points of a hinge [m]
enum { MAX_TENDON_JOINTS = 256 };

// --- frames -------------------------------------------------------------------------------------

// A frame that an element names: fixed in a body.
typedef struct urdf_frame {
  int32_t body;
  sap_pose pose;  // in the body
} urdf_frame;

static sap_status link_frame(sap_urdf_reader* r, const sap_xml_node* node, const char* attribute,
                             urdf_frame* out) {
  int32_t link;
  SAP_TRY(sap_urdf_find(r, &r->link_names, node, attribute, "link", &link));
  *out = (urdf_frame){.body = r->links[link].body, .pose = sap_pose_identity};
  return SAP_STATUS_OK;
}

// Reads the attributes link, xyz and rpy.
static sap_status read_frame(sap_urdf_reader* r, const sap_xml_node* node, urdf_frame* out) {
  SAP_TRY(link_frame(r, node, "link", out));
  return sap_urdf_pose(r, node, &out->pose);
}

static sap_status add_frame(sap_urdf_reader* r, const sap_xml_node* node) {
  const char* name;
  urdf_frame frame;
  SAP_TRY(sap_urdf_add_name(r, &r->frame_names, node, r->frame_count, &name));
  SAP_RETURN_IF(sap_name_map_find(&r->link_names, name) >= 0,
                sap_xml_syntax(node, "name", r->error, "a second <frame> or <link> of that name"));
  SAP_TRY(SAP_ROOM(&r->pool, &r->frames, r->frame_count + 1, r->error));
  r->frames[r->frame_count++] = node;
  return read_frame(r, node, &frame);
}

// Finds the body of the link that the attribute `name` of a child names.
static sap_status child_link(sap_urdf_reader* r, const sap_xml_node* node, const char* child,
                             int32_t* body) {
  const sap_xml_node* named;
  urdf_frame frame = {.body = -1};
  SAP_TRY(sap_xml_require_child(node, child, &named, r->error));
  SAP_TRY(link_frame(r, named, "name", &frame));
  *body = frame.body;
  return SAP_STATUS_OK;
}

// Finds the link or frame that the attribute `name` of a child names.
static sap_status child_frame(sap_urdf_reader* r, const sap_xml_node* node, const char* child,
                              urdf_frame* out) {
  const sap_xml_node* named;
  int32_t frame;
  SAP_TRY(sap_xml_require_child(node, child, &named, r->error));
  const char* name = sap_xml_get(named, "name");
  if (name != NULL && sap_name_map_find(&r->link_names, name) >= 0) {
    return link_frame(r, named, "name", out);
  }
  SAP_TRY(sap_urdf_find(r, &r->frame_names, named, "name", "frame or link", &frame));
  return read_frame(r, r->frames[frame], out);
}

// --- loops --------------------------------------------------------------------------------------

static sap_status add_equality(sap_urdf_reader* r, const sap_xml_node* node,
                               const sap_equality_def* def) {
  return SAP_XML_ADD(r, node, sap_builder_add_equality, def, NULL);
}

static sap_status add_ball(sap_urdf_reader* r, const sap_xml_node* node) {
  static const sap_xml_field fields[] = {
      SAP_XML_FIELD(sap_equality_def, anchor_A, "drake:ball_constraint_p_AP", ANY, 3, 3),
      SAP_XML_FIELD(sap_equality_def, anchor_B, "drake:ball_constraint_p_BQ", ANY, 3, 3),
      {0},
  };
  sap_equality_def def = sap_equality_def_default();
  SAP_TRY(child_link(r, node, "drake:ball_constraint_body_A", &def.a));
  SAP_TRY(child_link(r, node, "drake:ball_constraint_body_B", &def.b));
  SAP_TRY(sap_xml_read_children(node, fields, true, &def, r->error));
  return add_equality(r, node, &def);
}

static sap_status add_hinge(sap_urdf_reader* r, const sap_xml_node* node, const urdf_frame* a,
                            const urdf_frame* b) {
  double axis[3], point[3];  // in the frame
  SAP_TRY(sap_urdf_axis(r, node, axis));
  for (int side = -1; side <= 1; side += 2) {
    sap_v3_scale(point, axis, 0.5 * side * axis_length / sap_v3_norm(axis));
    sap_equality_def def = sap_equality_def_default();
    def.a = a->body;
    def.b = b->body;
    sap_quaternion_place(def.anchor_A, a->pose.p, a->pose.q, point);
    sap_quaternion_place(def.anchor_B, b->pose.p, b->pose.q, point);
    SAP_TRY(add_equality(r, node, &def));
  }
  return SAP_STATUS_OK;
}

static sap_status read_loop_end(sap_urdf_reader* r, const sap_xml_node* node, const char* child,
                                urdf_frame* out) {
  const sap_xml_node* end;
  SAP_TRY(sap_xml_require_child(node, child, &end, r->error));
  return read_frame(r, end, out);
}

static sap_status add_loop(sap_urdf_reader* r, const sap_xml_node* node) {
  enum { SPHERICAL, BALL, FIXED, REVOLUTE, CONTINUOUS };
  urdf_frame a, b;
  int32_t type = SPHERICAL;
  const char* text;
  SAP_TRY(sap_xml_require(node, "type", &text, r->error));
  SAP_TRY(
      sap_xml_choice(node, "type", "spherical ball fixed revolute continuous", &type, r->error));
  SAP_TRY(read_loop_end(r, node, "link1", &a));
  SAP_TRY(read_loop_end(r, node, "link2", &b));
  if (type == REVOLUTE || type == CONTINUOUS) {
    return add_hinge(r, node, &a, &b);
  }
  sap_equality_def def = sap_equality_def_default();
  def.a = a.body;
  def.b = b.body;
  sap_v3_copy(def.anchor_A, a.pose.p);
  sap_v3_copy(def.anchor_B, b.pose.p);
  if (type == FIXED) {
    double inverse[4];
    def.type = SAP_EQUALITY_WELD;
    sap_quaternion_conjugate(inverse, b.pose.q);
    sap_quaternion_multiply(def.q_AB, a.pose.q, inverse);
  }
  return add_equality(r, node, &def);
}

// --- force elements -----------------------------------------------------------------------------

static sap_status add_bushing(sap_urdf_reader* r, const sap_xml_node* node) {
  static const sap_xml_field fields[] = {
      SAP_XML_FIELD(sap_bushing_def, stiffness[0], "drake:bushing_torque_stiffness", ANY, 3, 3),
      SAP_XML_FIELD(sap_bushing_def, damping[0], "drake:bushing_torque_damping", ANY, 3, 3),
      SAP_XML_FIELD(sap_bushing_def, stiffness[3], "drake:bushing_force_stiffness", ANY, 3, 3),
      SAP_XML_FIELD(sap_bushing_def, damping[3], "drake:bushing_force_damping", ANY, 3, 3),
      {0},
  };
  sap_bushing_def def = sap_bushing_def_default();
  urdf_frame a, c;
  SAP_TRY(child_frame(r, node, "drake:bushing_frameA", &a));
  SAP_TRY(child_frame(r, node, "drake:bushing_frameC", &c));
  SAP_TRY(sap_xml_read_children(node, fields, true, &def, r->error));
  def.body_a = a.body;
  def.body_b = c.body;
  sap_pose_get(&a.pose, def.p_AF, def.q_AF);
  sap_pose_get(&c.pose, def.p_BG, def.q_BG);
  return SAP_XML_ADD(r, node, sap_builder_add_bushing, &def, NULL);
}

static sap_status add_spring(sap_urdf_reader* r, const sap_xml_node* node) {
#define FIELD(member, name, count) \
  SAP_XML_FIELD(sap_spring_def, member, "drake:linear_spring_damper_" name, ANY, count, count)
  static const sap_xml_field fields[] = {
      FIELD(point_A, "p_AP", 3),
      FIELD(point_B, "p_BQ", 3),
      FIELD(rest_length, "free_length", 1),
      FIELD(stiffness, "stiffness", 1),
      FIELD(damping, "damping", 1),
      {0},
  };
#undef FIELD
  sap_spring_def def = sap_spring_def_default();
  SAP_TRY(child_link(r, node, "drake:linear_spring_damper_body_A", &def.body_a));
  SAP_TRY(child_link(r, node, "drake:linear_spring_damper_body_B", &def.body_b));
  SAP_TRY(sap_xml_read_children(node, fields, true, &def, r->error));
  return SAP_XML_ADD(r, node, sap_builder_add_spring, &def, NULL);
}

// Reads <drake:tendon_constraint>:
//   lower <= sum a q + offset <= upper
// with a spring of `stiffness` and `damping` beyond the limits; rigid without a stiffness.
static sap_status add_tendon(sap_urdf_reader* r, const sap_xml_node* node) {
  typedef struct tendon {
    double offset, lower, upper, stiffness, damping;
  } tendon;
#define FIELD(member, name, rule) \
  SAP_XML_NUMBER(tendon, member, "drake:tendon_constraint_" name, rule)
  static const sap_xml_field fields[] = {
      FIELD(offset, "offset", ANY),           FIELD(lower, "lower_limit", ANY),
      FIELD(upper, "upper_limit", ANY),       FIELD(stiffness, "stiffness", ANY),
      FIELD(damping, "damping", NONNEGATIVE), {0},
  };
#undef FIELD
  sap_tendon_def def = sap_tendon_def_default();
  int32_t joints[MAX_TENDON_JOINTS];
  double coefficients[MAX_TENDON_JOINTS];
  tendon t = {.lower = def.lower,
              .upper = def.upper,
              .stiffness = def.limit_stiffness,
              .damping = (double)NAN};
  SAP_XML_EACH(n, node, "drake:tendon_constraint_joint") {
    SAP_RETURN_IF(def.njoints == MAX_TENDON_JOINTS,
                  sap_xml_syntax(n, NULL, r->error, "more than %d joints", MAX_TENDON_JOINTS));
    int32_t index;
    SAP_TRY(sap_urdf_find(r, &r->joint_names, n, "name", "joint", &index));
    SAP_TRY(sap_xml_numbers(n, "a", 1, 1, &coefficients[def.njoints], NULL, r->error));
    joints[def.njoints] = r->joints[index].id;
    def.njoints += joints[def.njoints] >= 0 ? 1 : 0;  // q of a fixed joint is 0
  }
  SAP_RETURN_IF(def.njoints == 0,
                sap_xml_syntax(node, NULL, r->error,
                               "has no <drake:tendon_constraint_joint> of a joint that moves"));
  SAP_TRY(sap_xml_read_children(node, fields, false, &t, r->error));
  def.joints = joints;
  def.coefficients = coefficients;
  def.lower = t.lower - t.offset;
  def.upper = t.upper - t.offset;
  def.limit_stiffness = t.stiffness;
  if (!isnan(t.damping) && isfinite(t.stiffness)) {
    def.limit_relaxation_time = t.damping / t.stiffness;
  }
  return SAP_XML_ADD(r, node, sap_builder_add_tendon, &def, NULL);
}

// --- collision filters --------------------------------------------------------------------------

typedef struct filter_groups {
  sap_urdf_reader* r;
  const sap_xml_node** nodes;
  int32_t count;
  bool* members;  // links of each group                                      (count links)
} filter_groups;

static bool is_ignored(const sap_xml_node* node) {
  const char* ignore = sap_xml_get(node, "ignore");
  return ignore != NULL && (strcmp(ignore, "true") == 0 || strcmp(ignore, "1") == 0);
}

static sap_status add_group(filter_groups* g, const sap_xml_node* node) {
  const char* name;
  SAP_TRY(sap_urdf_add_name(g->r, &g->r->group_names, node, g->count, &name));
  SAP_TRY(SAP_ROOM(&g->r->pool, &g->nodes, g->count + 1, g->r->error));
  g->nodes[g->count++] = node;
  return SAP_STATUS_OK;
}

// Adds the members that group `id` names; sets *grew when one is new.
static sap_status add_members(const filter_groups* g, int32_t id, bool* grew) {
  const size_t links = (size_t)g->r->link_count;
  bool* own = g->members + (size_t)id * links;
  for (const sap_xml_node* n = g->nodes[id]->first_child; n != NULL; n = n->next) {
    if (sap_xml_is(n, "drake:member")) {
      int32_t link;
      SAP_TRY(sap_urdf_find(g->r, &g->r->link_names, n, "link", "link", &link));
      *grew = *grew || !own[link];
      own[link] = true;
    } else if (sap_xml_is(n, "drake:member_group")) {
      int32_t other;
      SAP_TRY(sap_urdf_find(g->r, &g->r->group_names, n, "name", "group", &other));
      const bool* theirs = g->members + (size_t)other * links;
      for (size_t l = 0; l < links; ++l) {
        *grew = *grew || (theirs[l] && !own[l]);
        own[l] = own[l] || theirs[l];
      }
    }
  }
  return SAP_STATUS_OK;
}

// Excludes every pair of links of groups a and b once, also where both links are in both groups.
static sap_status exclude_groups(const filter_groups* g, int32_t a, int32_t b) {
  const int32_t links = g->r->link_count;
  const bool *in_a = g->members + (size_t)a * (size_t)links,
             *in_b = g->members + (size_t)b * (size_t)links;
  for (int32_t i = 0; i < links; ++i) {
    for (int32_t k = 0; k < links && in_a[i]; ++k) {
      const bool again = in_a[k] && in_b[i] && k < i;
      if (in_b[k] && i != k && !again) {
        SAP_TRY(sap_builder_exclude(g->r->builder, g->r->links[i].body, g->r->links[k].body,
                                    g->r->error));
      }
    }
  }
  return SAP_STATUS_OK;
}

static sap_status add_filters(sap_urdf_reader* r, const sap_xml_node* robot) {
  filter_groups g = {.r = r};
  SAP_XML_EACH(n, robot, "drake:collision_filter_group") {
    SAP_TRY(is_ignored(n) ? SAP_STATUS_OK : add_group(&g, n));
  }
  if (g.count == 0) {
    return SAP_STATUS_OK;
  }
  SAP_TRY(SAP_POOL_ADD(&r->pool, &g.members, (size_t)g.count * (size_t)r->link_count, r->error));
  for (bool grew = true; grew;) {  // groups may contain groups, in any order
    grew = false;
    for (int32_t i = 0; i < g.count; ++i) {
      SAP_TRY(add_members(&g, i, &grew));
    }
  }
  for (int32_t i = 0; i < g.count; ++i) {
    SAP_XML_EACH(n, g.nodes[i], "drake:ignored_collision_filter_group") {
      int32_t other;
      SAP_TRY(sap_urdf_find(r, &r->group_names, n, "name", "group", &other));
      SAP_TRY(exclude_groups(&g, i, other));
    }
  }
  return SAP_STATUS_OK;
}

sap_status sap_urdf_add_constraints(sap_urdf_reader* r, const sap_xml_node* robot) {
  static const struct {
    const char* element;
    sap_status (*add)(sap_urdf_reader* r, const sap_xml_node* node);
  } kinds[] = {
      {"frame", add_frame},
      {"drake:ball_constraint", add_ball},
      {"loop_joint", add_loop},
      {"drake:linear_bushing_rpy", add_bushing},
      {"drake:linear_spring_damper", add_spring},
      {"drake:tendon_constraint", add_tendon},
  };
  static const int32_t stages[] = {0, 1, 3, 6};  // frames, then loops, then force elements
  for (int stage = 0; stage < 3; ++stage) {
    for (const sap_xml_node* n = robot->first_child; n != NULL; n = n->next) {
      for (int32_t k = stages[stage]; k < stages[stage + 1]; ++k) {
        SAP_TRY(sap_xml_is(n, kinds[k].element) ? kinds[k].add(r, n) : SAP_STATUS_OK);
      }
    }
  }
  return add_filters(r, robot);
}
