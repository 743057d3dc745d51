// SPDX-License-Identifier: BSD-3-Clause
// Records runs as HDF5 files, and reads them.
//
// Layout, version 4. n is the number of rows, one per recorded step. Each data set has its units in
// the attribute "units" and the meaning of its columns in "columns".
//   /                   attributes format = "sapstep recording", version = 4
//   /time               (n)        [s]
//   /q /v               (n, nq) (n, nv)
//   /act                (n, na)    activations of the actuators
//   /pose               (n, 7 bodies)  p_WB [m], q_WB (w x y z) of body 0 (the world), 1, ...
//   /energy             (n, 3)     kinetic, gravity, springs [J]
//   /momentum           (n, 6)     linear [kg m/s], angular about the world's origin [kg m^2/s]
//   /step               (n, 13)    newton_iterations, converged (1 or 0), momentum_error, cost_J,
//                                  factorizations, evaluations, free_motion_iterations,
//                                  free_motion_residual, time_s, rows, dt_s, time_solver_s, islands
//   /actuator/force     (n, nu)    before the gear [N, N m]
//   /sensor             (n, nsensor)  values of the sensors, see /model/sensors; of MuJoCo at the
//                                  start of the step that led to the row
//   /contact/first      (n)        first row of the contact arrays that belongs to this step
//   /contact/count      (n)        number of these rows
//   /contact/id         (m, 6)     body_A, body_B, shape_A, shape_B, feature, mode
//                                  (0 open, 1 sticking, 2 sliding)
//   /contact/point      (m, 3)     [m]
//   /contact/frame      (m, 9)     columns t1, t2, n in the world's axes; n points from A into B
//   /contact/distance   (m)        [m], < 0 penetration, at the start of the step
//   /contact/velocity   (m, 3)     of B relative to A after the step [m/s], [t1 t2 n]
//   /contact/impulse    (m, 3)     on B [N s], [t1 t2 n]
//   /contact/turning    (m, 3)     angular velocity of B relative to A after the step [rad/s]
//                                  about [n t1 t2]: spin and rolling; 0 beyond condim
//   /contact/moment     (m, 3)     angular impulse on B [N m s], [n t1 t2]
//   /contact/patch      (m, 3)     number of its patch in the row, from 1; area [m^2] and mean
//                                  pressure [Pa] of the patch; 0: a point contact
//   /contact/law        (m, 4)     stiffness [N/m], relaxation time [s] and friction of the pair, and
//                                  the part of the stiffness that the step resolved; 0: unknown
//   /constraint/first, count       as /contact/first, count, for constraint rows with a force
//   /constraint/id      (k, 3)     kind, id, row; kind: 0 1 lower and upper limit of a joint,
//                                  2 3 of a tendon, 4 dry friction of a joint (row: its dof), 5 of
//                                  a tendon, 6 servo, 7 servos that share a joint's range, 8
//                                  equality
//   /constraint/force   (k)        mean over the step [N, N m]
//   /iteration/first, count        as /contact/first, count, for the solver's iterations
//   /iteration/value    (h, 4)     cost_J, momentum_error, step_length, evaluations; row 0: guess
//   /model              attribute name
//   /model/bodies joints shapes actuators equalities tendons   their names
//   /model/sensors      (nsensor)     names of the values: SENSOR, or SENSOR:0, SENSOR:1, ...
//   /model/body         (bodies, 5)   parent, mass, centre of mass in the body
//   /model/joint        (joints, 4)   type (sap_joint_type), body, first of q, first of v
//   /model/shape        (shapes, 18)  type (sap_shape_type), body, mesh, 1 if it collides,
//                                     sizes (3), pose in the body (7), colour (4, NaN: none)
//   /model/mesh         (meshes, 4)   first vertex, vertices, first triangle, triangles
//   /model/vertex /model/triangle     (3 columns) of all meshes
// A row holds the contacts, forces and iterations of the step that led to it. A row without a step
// report holds the contacts at its configuration with zero velocities and impulses, and no forces
// or iterations.
//
// Threads: a call copies the row and returns. The recorder's own thread compresses chunks, writes
// and flushes. Memory is bounded: a caller that records faster than the thread writes waits. The
// calls do this work themselves, with the same file as result, if
// `no_thread` is set, if no thread can be started, or if HDF5 is not built for threads (Debian's
// is). One recorder or recording at a time in a process whose HDF5 is not built for threads.
//
// Crashes: after each flush the file holds all rows up to it, and stays readable by every reader of
// HDF5 when the process is killed at any later moment, in the middle of the next flush too: a flush
// appends, then changes old bytes one object at a time, in an order that keeps the file consistent.
// (Data sets may then differ in length; n is the least.) A power failure may damage the file. With
// `flush_rows` > 0 a flush ends before the call returns that recorded its last row. Otherwise the
// thread flushes about once per MiB, and a call that comes a second after the last flush starts the
// next. An error of the thread, such as a full disk, is returned by the calls that follow it, at
// the latest by sap_recorder_close.
//
// Compression is lossless, by HDF5's filters shuffle and deflate, which all readers know. Bytes
// without repetition are stored uncompressed, as are chunks that were not full when flushed;
// `h5repack -f SHUF -f GZIP=9` makes a file smaller.
//
// The model may be destroyed before the recorder is closed. Without HDF5 in the build, all
// functions that can fail return UNSUPPORTED.
#pragma once

#include <sapstep/base.h>
#include <sapstep/multibody.h>
#include <sapstep/stepper.h>

SAP_C_BEGIN

// Start with sap_recorder_options_default(), which sets the cookie.
typedef struct sap_recorder_options {
  uint32_t cookie;
  int32_t compression;  // 0: none; 1 to 9: level of zlib                                     (1)
  int32_t flush_rows;   // rows between flushes, 1 to 1e6; 0: about 1 MiB or 1 s              (0)
  bool no_thread;       // true: the calls do all work                                    (false)
} sap_recorder_options;

SAP_API sap_recorder_options sap_recorder_options_default(void);

typedef struct sap_recorder sap_recorder;

// Creates the file; replaces an existing one. options NULL: defaults. Fails with IO, ARGUMENT,
// MEMORY or UNSUPPORTED.
SAP_API sap_status sap_recorder_create(const char* path, const sap_model* model,
                                       const sap_recorder_options* options, sap_recorder** out,
                                       sap_error* error);
// Adds a row: the state, and the report of the step that led to it (NULL: no step). Calls
// sap_multibody_collect if the caller has not. Fails with ARGUMENT if the contacts are not those of
// the report's step: record before sap_multibody_detect and before the next step. After IO nothing
// more can be written.
SAP_API sap_status sap_recorder_write(sap_recorder* recorder, sap_multibody* multibody,
                                      const sap_state* state, const sap_step_report* report,
                                      sap_error* error);

// --- recording for other engines: layout and units as above ---

typedef struct sap_recorded_body {
  int32_t parent;    // -1 for the world
  double mass;       // [kg]
  double center[3];  // of mass, in the body [m]
} sap_recorded_body;
typedef struct sap_recorded_joint {
  sap_joint_type type;  // determines the coordinates
  int32_t body, first_q, first_v;
} sap_recorded_joint;
typedef struct sap_recorded_shape {
  sap_shape_type type;
  int32_t body, mesh;  // mesh: -1 unless it is one
  bool collides;       // false: visual only
  double size[3];      // by type, as in sap_shape_def
  double p_BS[3], q_BS[4];
  double color[4];  // NaN: none
} sap_recorded_shape;
typedef struct sap_recorded_model {
  const char* name;       // NULL: none
  sap_model_sizes sizes;  // nq, nv, na, nu (actuator forces) and the counts of the arrays below;
                          // at least one body, the world
  const char* (*element_name)(const void* context, sap_element kind, int32_t id);  // NULL: none
  const void* context;
  const sap_recorded_body* bodies;
  const sap_recorded_joint* joints;
  const sap_recorded_shape* shapes;
  const int32_t (*meshes)[4];     // first vertex, vertices, first triangle, triangles
  const float (*vertices)[3];     // of all meshes [m]
  const int32_t (*triangles)[3];  // corners, numbered from their mesh's first vertex
  int32_t nvertices, ntriangles;
  const int32_t* sensor_values;  // number of values of each sensor; their sum is sizes.nsensor
} sap_recorded_model;

// The force of one constraint row; kind, id and row as in /constraint/id.
typedef struct sap_recorded_force {
  int32_t kind, id, row;
  double force;  // [N, N m]
} sap_recorded_force;
typedef struct sap_recorded_row {
  double t;
  const double *q, *v, *act;  // (nq) (nv) (na)
  const double *p_WB, *q_WB;  // (3 bodies) (4 bodies)
  double energy[3], momentum[6];
  const double* actuator_force;  // NULL: zero                                       (nu)
  const double* sensor;          // NULL: zero                                       (nsensor)
  const sap_contact* contacts;   // bodies, shapes, feature, point, R_WC, phi, friction, vc, gamma
  const sap_recorded_force* forces;
  int32_t contact_count, force_count;
  bool stepped;              // false: no step led to the row; vc and gamma of contacts are ignored
  const sap_report* solver;  // NULL: none
  int32_t constraint_rows, free_motion_iterations;
  double free_motion_residual, dt, time_total, time_solver;  // [s]
} sap_recorded_row;

// Creates a recorder as sap_recorder_create does. Copies what it needs of the model.
SAP_API sap_status sap_recorder_create_foreign(const char* path, const sap_recorded_model* model,
                                               const sap_recorder_options* options,
                                               sap_recorder** out, sap_error* error);
// Adds a row, which is copied. Works with any recorder; errors as of sap_recorder_write.
SAP_API sap_status sap_recorder_write_row(sap_recorder* recorder, const sap_recorded_row* row,
                                          sap_error* error);
// Writes buffered rows to the file. After IO nothing more can be written.
SAP_API sap_status sap_recorder_flush(sap_recorder* recorder, sap_error* error);
// Flushes, closes the file and destroys the recorder, also on failure. NULL allowed.
SAP_API sap_status sap_recorder_close(sap_recorder* recorder, sap_error* error);

// --- reading ---

typedef struct sap_recording sap_recording;

// Opens a file. Fails with IO if it is missing, damaged or was cut off during a flush; with SYNTAX
// if it is not a recording of this version.
SAP_API sap_status sap_recording_open(const char* path, sap_recording** out, sap_error* error);
SAP_API void sap_recording_close(sap_recording* recording);
SAP_API int64_t sap_recording_rows(const sap_recording* recording);  // n
// Returns rows and columns of a data set ("q", "contact/impulse"). Fails with ARGUMENT if there is
// none.
SAP_API sap_status sap_recording_size(const sap_recording* recording, const char* name,
                                      int64_t* rows, int64_t* columns, sap_error* error);
// Copies an attribute of a data set ("units", "columns") or group ("model", "name"), cut to `size`
// bytes. Fails with ARGUMENT if there is none.
SAP_API sap_status sap_recording_attribute(const sap_recording* recording, const char* name,
                                           const char* attribute, char* out, size_t size,
                                           sap_error* error);
// Copies element `index` of a list of names ("model/bodies"), cut to `size` bytes. Fails with
// ARGUMENT if there is none.
SAP_API sap_status sap_recording_text(const sap_recording* recording, const char* name,
                                      int64_t index, char* out, size_t size, sap_error* error);
// Reads rows first ... first + count - 1 of a data set, row by row (count x columns).
SAP_API sap_status sap_recording_read(const sap_recording* recording, const char* name,
                                      int64_t first, int64_t count, double* out, sap_error* error);

SAP_C_END
