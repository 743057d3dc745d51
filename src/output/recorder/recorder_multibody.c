// SPDX-License-Identifier: BSD-3-Clause
// Records models and steps of this library's own multibody engine.
#include <string.h>

#include <sapstep/multibody.h>

#include "core/memory.h"
#include "output/recorder/recorder.h"

#include "multibody/assembly/assembly_data.h"
#include "multibody/engine/multibody_data.h"
#include "multibody/model/model_data.h"

// --- the model ---

// Arrays of a description of the model.
typedef struct description {
  sap_pool pool;
  sap_recorded_body* bodies;
  sap_recorded_joint* joints;
  sap_recorded_shape* shapes;
  int32_t (*meshes)[4];
  float (*vertices)[3];
  int32_t (*triangles)[3];
  int32_t* sensor_values;
} description;

static const char* element_name(const void* model, sap_element kind, int32_t id) {
  return sap_model_get_name(model, kind, id);
}

static void fill_shape(const sap_shape_def* shape, bool collides, sap_recorded_shape* to) {
  *to = (sap_recorded_shape){
      .type = shape->type, .body = shape->body, .mesh = shape->mesh, .collides = collides};
  memcpy(to->size, shape->size, sizeof to->size);
  memcpy(to->p_BS, shape->p_BS, sizeof to->p_BS);
  memcpy(to->q_BS, shape->q_BS, sizeof to->q_BS);
  memcpy(to->color, shape->color, sizeof to->color);
}

static void fill_elements(const sap_model* model, description* d) {
  for (int32_t i = 0; i < model->sizes.bodies; ++i) {
    sap_body_def body = {0};
    (void)sap_model_get_body(model, i, &body, NULL);
    d->bodies[i].parent = i > 0 ? body.parent : -1;
    d->bodies[i].mass = body.mass;
    memcpy(d->bodies[i].center, body.p_BCo, sizeof body.p_BCo);
  }
  for (int32_t i = 0; i < model->sizes.joints; ++i) {
    sap_recorded_joint* joint = &d->joints[i];
    (void)sap_model_joint_address(model, i, &joint->type, &joint->body, &joint->first_q,
                                  &joint->first_v, NULL);
  }
  for (int32_t i = 0; i < model->sizes.sensors; ++i) {
    d->sensor_values[i] = sap_model_sensor_values(model, i, NULL);
  }
  for (int32_t i = 0; i < model->sizes.shapes; ++i) {
    const bool collides =
        model->shapes[i].contact_type != 0 || model->shapes[i].contact_affinity != 0;
    fill_shape(&model->shapes[i], collides, &d->shapes[i]);
  }
  for (int32_t i = 0; i < model->sizes.pairs; ++i) {
    d->shapes[model->pairs[i].shape_a].collides = d->shapes[model->pairs[i].shape_b].collides =
        true;
  }
  for (int32_t i = 0; i < model->visual_counts[SAP_VISUALS]; ++i) {
    sap_recorded_shape* to = &d->shapes[model->sizes.shapes + i];
    fill_shape(&model->visuals[i], false, to);
    to->mesh += to->mesh >= 0 ? model->sizes.meshes : 0;
  }
}

// Copies hulls as triangles, fans of their polygons, and then the visual meshes.
static void fill_surfaces(const sap_model* model, description* d) {
  int32_t triangle = 0, vertex = 0;
  for (int32_t i = 0; i < model->sizes.meshes; ++i) {
    const sap_hull* mesh = &model->meshes[i];
    d->meshes[i][0] = vertex;
    d->meshes[i][1] = mesh->nvertices;
    d->meshes[i][2] = triangle;
    for (int32_t f = 0; f < mesh->nfaces; ++f) {
      const int32_t start = mesh->face_start[f], end = mesh->face_start[f + 1];
      const int32_t* corner = mesh->face_vertices;
      for (int32_t k = start + 1; k + 1 < end; ++k, ++triangle) {
        const int32_t corners[3] = {corner[start], corner[k], corner[k + 1]};
        memcpy(d->triangles[triangle], corners, sizeof corners);
      }
    }
    d->meshes[i][3] = triangle - d->meshes[i][2];
    for (int32_t k = 0; k < 3 * mesh->nvertices; ++k) {
      d->vertices[vertex + k / 3][k % 3] = (float)mesh->vertices[k];
    }
    vertex += mesh->nvertices;
  }
  for (int32_t i = 0; i < model->visual_counts[SAP_VISUAL_MESHES]; ++i) {
    int32_t* row = d->meshes[model->sizes.meshes + i];
    memcpy(row, model->visual_meshes[i], sizeof *model->visual_meshes);
    row[0] += vertex;
    row[2] += triangle;
  }
  memcpy(d->vertices + vertex, model->visual_vertices,
         (size_t)model->visual_counts[SAP_VISUAL_VERTICES] * sizeof *d->vertices);
  memcpy(d->triangles + triangle, model->visual_triangles,
         (size_t)model->visual_counts[SAP_VISUAL_TRIANGLES] * sizeof *d->triangles);
}

static sap_status describe_model(const sap_model* model, description* d, sap_recorded_model* out,
                                 sap_error* error) {
  sap_model_sizes sizes = model->sizes, *n = &sizes;
  const int32_t* visual = model->visual_counts;
  int32_t nvertices = visual[SAP_VISUAL_VERTICES], ntriangles = visual[SAP_VISUAL_TRIANGLES];
  SAP_EACH(const sap_hull, mesh, model->meshes, n->meshes) {
    nvertices += mesh->nvertices;
    ntriangles += mesh->face_start[mesh->nfaces] - 2 * mesh->nfaces;
  }
  sizes.shapes += visual[SAP_VISUALS];
  sizes.meshes += visual[SAP_VISUAL_MESHES];
  SAP_TRY(SAP_POOL_ADD_ALL(&d->pool, error, SAP_ARRAY(&d->bodies, n->bodies),
                           SAP_ARRAY(&d->joints, n->joints), SAP_ARRAY(&d->shapes, n->shapes),
                           SAP_ARRAY(&d->meshes, n->meshes), SAP_ARRAY(&d->vertices, nvertices),
                           SAP_ARRAY(&d->triangles, ntriangles),
                           SAP_ARRAY(&d->sensor_values, n->sensors)));
  fill_elements(model, d);
  fill_surfaces(model, d);
  *out = (sap_recorded_model){
      .name = model->options.name,
      .sizes = *n,
      .element_name = element_name,
      .context = model,
      .bodies = d->bodies,
      .joints = d->joints,
      .shapes = d->shapes,
      .meshes = (const int32_t(*)[4])d->meshes,
      .vertices = (const float(*)[3])d->vertices,
      .triangles = (const int32_t(*)[3])d->triangles,
      .nvertices = nvertices,
      .ntriangles = ntriangles,
      .sensor_values = d->sensor_values,
  };
  return SAP_STATUS_OK;
}

sap_status sap_recorder_create(const char* path, const sap_model* model,
                               const sap_recorder_options* options, sap_recorder** out,
                               sap_error* error) {
  SAP_NOT_NULL(error, out, model);
  *out = NULL;
  description d = {.pool = {.owner = "recorder"}};
  sap_recorded_model recorded;
  sap_status status = describe_model(model, &d, &recorded, error);
  SAP_THEN(status, sap_recorder_create_foreign(path, &recorded, options, out, error));
  sap_pool_free(&d.pool);
  return status;
}

// --- steps ---

static sap_status add_block_forces(sap_recorder* recorder, const sap_step_report* report,
                                   int32_t index, sap_recorded_row* row, sap_error* error) {
  sap_block block;
  int32_t start = 0;
  SAP_TRY(sap_problem_block(report->problem, index, &block, &start, error));
  SAP_TRY(SAP_GROW(&recorder->forces, &recorder->force_capacity, row->force_count + block.nrows,
                   error));
  for (int32_t r = 0; r < block.nrows; ++r) {
    const double force = report->solution->gamma[start + r] / sap_problem_dt(report->problem);
    if (force != 0.0) {
      recorder->forces[row->force_count++] =
          (sap_recorded_force){.kind = sap_assembly_key_kind(block.key) - SAP_KEY_LOWER,
                               .id = sap_assembly_key_id(block.key, 0),
                               .row = sap_assembly_key_id(block.key, 1) + r,
                               .force = force};
    }
  }
  return SAP_STATUS_OK;
}

// Finds the nonzero rows of all blocks but contacts: limits, dry friction, servos, equalities.
static sap_status find_forces(sap_recorder* recorder, sap_block_range contacts,
                              const sap_step_report* report, sap_recorded_row* row,
                              sap_error* error) {
  const bool solved = report != NULL && report->solution != NULL;
  const int32_t count = solved ? sap_problem_block_count(report->problem) : 0;
  for (int32_t i = 0; i < count; ++i) {
    if (i < contacts.first || i >= contacts.end) {
      SAP_TRY(add_block_forces(recorder, report, i, row, error));
    }
  }
  row->forces = recorder->forces;
  return SAP_STATUS_OK;
}

// Computes the actuators' forces of the step.
static sap_status find_actuator_forces(sap_recorder* recorder, sap_multibody* multibody,
                                       const sap_step_report* report, sap_recorded_row* row,
                                       sap_error* error) {
  const int32_t nu = recorder->sizes.nu;
  if (nu == 0 || report == NULL) {
    return SAP_STATUS_OK;
  }
  SAP_TRY(SAP_GROW(&recorder->actuator_force, &recorder->actuator_capacity, nu, error));
  row->actuator_force = recorder->actuator_force;
  return sap_multibody_actuator_forces(multibody, report, recorder->actuator_force, error);
}

// Reads the sensors at the end of the step.
static sap_status find_sensors(sap_recorder* recorder, sap_multibody* multibody,
                               const sap_state* state, const sap_step_report* report,
                               sap_recorded_row* row, sap_error* error) {
  const int32_t count = recorder->sizes.nsensor;
  if (count == 0) {
    return SAP_STATUS_OK;
  }
  SAP_TRY(SAP_GROW(&recorder->sensor, &recorder->sensor_capacity, count, error));
  row->sensor = recorder->sensor;
  return sap_multibody_sensors(multibody, report, state, recorder->sensor, error);
}

static void copy_report(const sap_step_report* report, sap_recorded_row* row) {
  row->stepped = true;
  row->solver = report->solver;
  row->constraint_rows = report->rows;
  row->free_motion_iterations = report->free_motion_iterations;
  row->free_motion_residual = report->free_motion_residual;
  row->dt = sap_problem_dt(report->problem);
  row->time_total = report->time_total;
  row->time_solver = report->time_solver;
}

static void copy_diagnostics(const sap_diagnostics* d, sap_recorded_row* row) {
  row->energy[0] = d->kinetic;
  row->energy[1] = d->potential_gravity;
  row->energy[2] = d->potential_springs;
  memcpy(row->momentum, d->linear_momentum, 3 * sizeof(double));
  memcpy(row->momentum + 3, d->angular_momentum, 3 * sizeof(double));
}

// Computes poses, energy and momentum. The poses are valid until the next call of the engine.
static sap_status diagnose_row(sap_multibody* multibody, const sap_state* state,
                               sap_recorded_row* row, sap_error* error) {
  sap_diagnostics d;
  SAP_TRY(sap_multibody_diagnose(multibody, state, &d, error));
  const sap_kinematics* kin = sap_multibody_start_kinematics(multibody, state->q);
  row->p_WB = kin->p_WB;
  row->q_WB = kin->q_WB;
  copy_diagnostics(&d, row);
  return SAP_STATUS_OK;
}

static sap_status check_sizes(const sap_recorder* recorder, const sap_multibody* multibody,
                              const sap_state* state, sap_error* error) {
  const sap_model_sizes *n = &recorder->sizes, *m = &multibody->model->sizes;
  SAP_FAIL_IF(m->bodies != n->bodies || m->nu != n->nu, error, SAP_STATUS_ARGUMENT,
              "multibody has %d bodies, nu = %d; the recorder's model has %d, %d", m->bodies, m->nu,
              n->bodies, n->nu);
  SAP_FAIL_IF(state->nq != n->nq || state->nv != n->nv || state->na != n->na, error,
              SAP_STATUS_ARGUMENT, "state has nq = %d, nv = %d, na = %d; the model has %d, %d, %d",
              state->nq, state->nv, state->na, n->nq, n->nv, n->na);
  return SAP_STATUS_OK;
}

sap_status sap_recorder_write(sap_recorder* recorder, sap_multibody* multibody,
                              const sap_state* state, const sap_step_report* report,
                              sap_error* error) {
  SAP_NOT_NULL(error, recorder, multibody, state);
  SAP_TRY(check_sizes(recorder, multibody, state, error));
  if (report != NULL && report->solution != NULL && !multibody->collected) {
    SAP_TRY(sap_multibody_collect(multibody, report, error));
  }
  sap_recorded_row row = {.t = state->t,
                          .q = state->q,
                          .v = state->v,
                          .act = state->act,
                          .contacts = sap_multibody_contacts(multibody),
                          .contact_count = sap_multibody_contact_count(multibody)};
  const sap_block_range contacts = multibody->assembly->ranges[SAP_BLOCKS_CONTACT];
  SAP_TRY(find_actuator_forces(recorder, multibody, report, &row, error));
  SAP_TRY(find_sensors(recorder, multibody, state, report, &row, error));
  SAP_TRY(find_forces(recorder, contacts, report, &row, error));
  SAP_TRY(diagnose_row(multibody, state, &row, error));
  if (report != NULL) {
    copy_report(report, &row);
  }
  return sap_recorder_add_row(recorder, &row, error);
}
