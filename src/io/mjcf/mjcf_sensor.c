// SPDX-License-Identifier: BSD-3-Clause
// <sensor>. Sensors have no influence on the motion: those that are not supported are left out with
// a warning.
#include <string.h>

#include "io/mjcf/mjcf_attribute.h"
#include "io/xml/schema.h"
#include "multibody/model/builder.h"

const char* sap_mjcf_sensed_kind(const sap_xml_node* node, const char* attribute) {
  static const char* const kinds[] = {"body", "body", "obstacle", "site"};
  const char* text = sap_xml_get(node, attribute);
  const int32_t kind = text != NULL ? sap_word_index("body xbody geom site", text) : -1;
  return kind >= 0 ? kinds[kind] : NULL;
}

// Pose in a body of the frame that objtype or reftype names. Returns why it is not known, or NULL.
static const char* find_frame(const sap_mjcf_reader* r, const char* type, int32_t id, bool turns,
                              int32_t* body, sap_pose* pose) {
  *body = id;
  *pose = sap_pose_identity;
  if (strcmp(type, "site") == 0) {
    *body = r->sites[id].body;
    *pose = r->sites[id].pose;
  } else if (strcmp(type, "geom") == 0) {
    *body = r->obstacles[id].body;
    *pose = r->obstacles[id].pose;
    return r->obstacles[id].type == SAP_SHAPE_MESH
               ? "the frame of a mesh geom is not supported: the sensor is left out"
               : NULL;
  } else if (strcmp(type, "body") == 0) {
    const sap_model_body* part = &r->builder->bodies[id];
    const double* q = part->q_BI;
    const bool known = q[0] != 0.0 || q[1] != 0.0 || q[2] != 0.0 || q[3] != 0.0;
    *pose = sap_pose_of(part->p_BCo, known ? q : pose->q);
    return sap_builder_is_static(r->builder, id) ? "the inertial frame of a static body is not "
                                                   "known (objtype xbody is its frame): the "
                                                   "sensor is left out"
           : turns && !known ? "the principal axes of this body are not unique: the sensor is left "
                               "out (objtype xbody is the body's frame)"
                             : NULL;
  }
  return NULL;
}

// Sets the frames of a sensor with objtype. Returns why it is not supported, or NULL.
static const char* set_frames(const sap_mjcf_reader* r, const sap_mjcf_instance* i,
                              sap_sensor_def* def) {
  const char* reference = sap_xml_get(i->node, "refname");
  const bool turns =
      def->type >= SAP_SENSOR_FRAME_QUATERNION && def->type <= SAP_SENSOR_FRAME_Z_AXIS;
  if (sap_mjcf_sensed_kind(i->node, "objtype") == NULL ||
      (reference != NULL && sap_mjcf_sensed_kind(i->node, "reftype") == NULL)) {
    return "only the frames of bodies, geoms and sites are supported: the sensor is left out";
  }
  sap_pose pose;
  const char* why =
      find_frame(r, sap_xml_get(i->node, "objtype"), i->ids[0], turns, &def->object, &pose);
  sap_pose_get(&pose, def->p_BX, def->q_BX);
  if (reference != NULL && why == NULL) {
    why = find_frame(r, sap_xml_get(i->node, "reftype"), i->ids[1], true, &def->reference, &pose);
    sap_pose_get(&pose, def->p_BR, def->q_BR);
  }
  return why;
}

static void set_site(const sap_mjcf_site* site, sap_sensor_def* def) {
  def->object = site->body;
  sap_pose_get(&site->pose, def->p_BX, def->q_BX);
  def->zone = (sap_shape_type)site->type;
  memcpy(def->zone_size, site->size, sizeof site->size);
}

// Sets the object of a sensor that names it by `attribute`; *why: it is left out.
static sap_status set_object(sap_mjcf_reader* r, const sap_mjcf_instance* i, const char* attribute,
                             sap_sensor_def* def, const char** why) {
  const char* name;
  if (attribute == NULL) {  // none, or a frame
    return SAP_STATUS_OK;
  }
  if (strcmp(attribute, "site") == 0 && sap_xml_get(i->node, "site") == NULL &&
      def->type == SAP_SENSOR_RANGEFINDER) {
    *why = "a rangefinder on a camera is not supported and left out";
    return SAP_STATUS_OK;
  }
  SAP_TRY(sap_xml_require(i->node, attribute, &name, r->error));
  def->object = i->ids[0];
  if (strcmp(attribute, "site") == 0) {
    set_site(&r->sites[i->ids[0]], def);
  } else if (strcmp(attribute, "actuator") == 0) {
    def->object = r->controls[i->ids[0]].id;
    *why = def->object < 0 ? "its actuator was left out, and so is the sensor" : NULL;
  }
  return SAP_STATUS_OK;
}

sap_status sap_mjcf_add_sensor(sap_mjcf_reader* r, const sap_mjcf_instance* i) {
  static const char* const attributes[] = {
      [SAP_SENSES_FRAME] = "site",        [SAP_SENSES_SCALAR_JOINT] = "joint",
      [SAP_SENSES_BALL_JOINT] = "joint",  [SAP_SENSES_TENDON] = "tendon",
      [SAP_SENSES_ACTUATOR] = "actuator", [SAP_SENSES_BODY] = "body",
      [SAP_SENSES_NOTHING] = NULL};
  sap_sensor_def def = sap_sensor_def_default();
  int type = 0;
  while (type < SAP_SENSOR_TYPE_COUNT &&
         strcmp(i->node->name, sap_sensor_find_traits(type).name) != 0) {
    ++type;
  }
  def.type = (sap_sensor_type)type;
  const bool framed =
      type >= SAP_SENSOR_FRAME_POSITION && type <= SAP_SENSOR_FRAME_ANGULAR_ACCELERATION;
  const char *why = NULL, *name;
  if (type == SAP_SENSOR_TYPE_COUNT) {
    why = "this sensor is not supported and left out";
  } else if (framed) {
    SAP_TRY(sap_xml_require(i->node, "objtype", &name, r->error));
    SAP_TRY(sap_xml_require(i->node, "objname", &name, r->error));
    why = set_frames(r, i, &def);
  } else {
    SAP_TRY(set_object(r, i, attributes[sap_sensor_find_traits(type).object], &def, &why));
  }
  if (why != NULL) {
    sap_scene_warn(r->options, i->node, NULL, why);
    return SAP_STATUS_OK;
  }
  SAP_TRY(sap_xml_optional(i->node, "cutoff", 1, 1, &def.cutoff, r->error));
  SAP_TRY(sap_mjcf_full_name(r, i->space, sap_xml_get(i->node, "name"), &def.name));
  return SAP_XML_ADD(r, i->node, sap_builder_add_sensor, &def, NULL);
}
