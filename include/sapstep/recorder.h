// SPDX-License-Identifier: BSD-3-Clause
// Recordings of runs as HDF5 files, and a reader of them.
//
// Layout, version 2; n rows, one per recorded step; units stand in the attribute "units" and the
// meaning of columns in "columns" of each data set:
//   /                   attributes format = "sapstep recording", version = 2
//   /time               (n)        [s]
//   /q /v               (n, nq) (n, nv)
//   /pose               (n, 7 bodies)  p_WB [m], q_WB (w x y z) of body 0 (the world), 1, ...
//   /energy             (n, 3)     kinetic, gravity, springs [J]
//   /momentum           (n, 6)     linear [kg m/s], angular about the world's origin [kg m^2/s]
//   /step               (n, 13)    what the step did: newton_iterations, converged (1 or 0),
//                                  momentum_error, cost_J, factorizations, evaluations,
//                                  free_motion_iterations, free_motion_residual, time_s, rows,
//                                  dt_s, time_solver_s, islands
//   /actuator/force     (n, nu)    before the gear [N, N m]
//   /contact/first      (n)        first row of the arrays below that belongs to this row
//   /contact/count      (n)        and how many do
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
//   /constraint/first, count       the same of rows, other than contacts, that push
//   /constraint/id      (k, 3)     kind, id, row; kind: 0 1 lower and upper limit of a joint,
//                                  2 3 of a tendon, 4 dry friction of a joint (row: its dof), 5 of
//                                  a tendon, 6 servo, 7 servos that share a joint's range, 8
//                                  equality
//   /constraint/force   (k)        mean over the step [N, N m]
//   /iteration/first, count        the same of the solver's iterations, the guess included
//   /iteration/value    (h, 4)     cost_J, momentum_error, step_length, evaluations
//   /model              attribute name
//   /model/bodies joints shapes actuators equalities tendons   their names
//   /model/body         (bodies, 5)   parent, mass, centre of mass in the body
//   /model/joint        (joints, 4)   type (sap_joint_type), body, first of q, first of v
//   /model/shape        (shapes, 18)  type (sap_shape_type), body, mesh, 1 if it collides,
//                                     sizes (3), pose in the body (7), colour (4, NaN: any)
//   /model/mesh         (meshes, 4)   first vertex, vertices, first triangle, triangles
//   /model/vertex /model/triangle     (3 columns) of all meshes
// Contacts, forces and iterations are those of the step that led to the row; a row without a report
// has the contacts of the configuration, without velocities and impulses, and nothing of the rest.
//
// A call that records copies the row and is done: a thread of the recorder's own finds energies and
// momenta, compresses chunks, writes them and flushes. Memory is bounded, also as the run grows:
// who records faster than the thread can write waits. Where no thread can be started, or none is
// wanted
// (`no_thread`), the calls do the same work; the file is the same. HDF5 is called by that thread if
// the library says it is made for threads (Debian's is), else by the calls alone.
// The file is touched by flushes only, and consistent after each: one that a crash cut off opens
// and holds what was flushed. A flush falls due every `flush_rows` rows; when that is given, the
// call with which it falls due returns after it, as sap_recorder_flush does. By default the thread
// is left to do it, and a crash loses what it has not yet done, too. What it cannot do (the disk is
// full) is told by the calls that follow, close at the latest.
// Compression is lossless, by HDF5's filters shuffle and deflate, which all readers know; bytes
// that are noise are not searched. A chunk that a flush wrote before it was full stays
// uncompressed. `h5repack -f SHUF -f GZIP=9` makes a file smaller later. One recorder or recording
// at a time in a process where HDF5 is not made for threads. The model may be destroyed before the
// recorder is closed. In a build without HDF5 all that can fail is UNSUPPORTED.
#ifndef SAPSTEP_RECORDER_H
#define SAPSTEP_RECORDER_H

#include <sapstep/base.h>
#include <sapstep/multibody.h>
#include <sapstep/stepper.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sap_recorder_options {
  int32_t compression;  // 0 none, 1 to 9: zlib's levels                                      (1)
  int32_t flush_rows;   // rows from one flush to the next, 1 to 1e6; 0: about 1 MiB of them (0)
  bool no_thread;       // true: all is done by the calls                                  (false)
} sap_recorder_options;

SAP_API sap_recorder_options sap_recorder_options_default(void);

// Is this a build with HDF5?
SAP_API bool sap_recorder_available(void);

typedef struct sap_recorder sap_recorder;

// Replaces a file that exists. options NULL: defaults. IO, ARGUMENT, MEMORY, UNSUPPORTED.
SAP_API sap_status sap_recorder_create(const char* path, const sap_model* model,
                                       const sap_recorder_options* options, sap_recorder** out,
                                       sap_error* error);
// Adds a row: the state, and what the step that led to it did (collected by sap_multibody_collect;
// NULL: none). After a failed write (IO) nothing more can be written.
SAP_API sap_status sap_recorder_write(sap_recorder* recorder, sap_multibody* multibody,
                                      const sap_state* state, const sap_step_report* report,
                                      sap_error* error);

// Those who step with an engine of their own record with the two below; layout and units as above.
typedef struct sap_recorded_body {
  int32_t parent;    // -1 for the world
  double mass;       // [kg]
  double center[3];  // of mass, in the body [m]
} sap_recorded_body;
typedef struct sap_recorded_joint {
  sap_joint_type type;  // says what its coordinates are
  int32_t body, first_q, first_v;
} sap_recorded_joint;
typedef struct sap_recorded_shape {
  sap_shape_type type;
  int32_t body, mesh;  // mesh: -1 unless it is one
  bool collides;       // false: for show
  double size[3];      // by type, as in sap_shape_def
  double p_BS[3], q_BS[4];
  double color[4];  // NaN: any
} sap_recorded_shape;
typedef struct sap_recorded_model {
  const char* name;       // NULL: none
  sap_model_sizes sizes;  // nq, nv, na, nu (actuator forces) and the counts of what follows; at
                          // least one body, the world
  const char* (*element_name)(const void* context, sap_element kind, int32_t id);  // NULL: none
  const void* context;
  const sap_recorded_body* bodies;
  const sap_recorded_joint* joints;
  const sap_recorded_shape* shapes;
  const int32_t (*meshes)[4];     // first vertex, vertices, first triangle, triangles
  const float (*vertices)[3];     // of all meshes [m]
  const int32_t (*triangles)[3];  // corners, numbered from their mesh's first vertex
  int32_t nvertices, ntriangles;
} sap_recorded_model;

// A row other than a contact's that pushes: kind, id and row as in /constraint/id.
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
  const sap_contact* contacts;   // bodies, shapes, feature, point, R_WC, phi, friction, vc, gamma
  const sap_recorded_force* forces;
  int32_t contact_count, force_count;
  bool stepped;              // a step led to the row: without one contacts have no vc and gamma
  const sap_report* solver;  // NULL: none
  int32_t constraint_rows, free_motion_iterations;
  double free_motion_residual, dt, time_total, time_solver;  // [s]
} sap_recorded_row;

// As sap_recorder_create. What the model points to is not kept. Rows are copied by the call.
SAP_API sap_status sap_recorder_create_foreign(const char* path, const sap_recorded_model* model,
                                               const sap_recorder_options* options,
                                               sap_recorder** out, sap_error* error);
// As sap_recorder_write, of any recorder.
SAP_API sap_status sap_recorder_write_row(sap_recorder* recorder, const sap_recorded_row* row,
                                          sap_error* error);
// Writes what is buffered to the file. IO: nothing more can be written.
SAP_API sap_status sap_recorder_flush(sap_recorder* recorder, sap_error* error);
// Flushes and closes; the recorder is gone whatever is returned. NULL allowed.
SAP_API sap_status sap_recorder_close(sap_recorder* recorder, sap_error* error);

typedef struct sap_recording sap_recording;  // a file that is being read

// IO: missing, cut off in the middle of a flush; SYNTAX: not a recording of this version.
SAP_API sap_status sap_recording_open(const char* path, sap_recording** out, sap_error* error);
SAP_API void sap_recording_close(sap_recording* recording);
SAP_API int64_t sap_recording_rows(const sap_recording* recording);  // n
// Rows and columns of a data set ("q", "contact/impulse"). ARGUMENT: there is none.
SAP_API sap_status sap_recording_size(const sap_recording* recording, const char* name,
                                      int64_t* rows, int64_t* columns, sap_error* error);
// An attribute of a data set ("units", "columns") or group ("model", "name"), cut to `size` bytes.
// ARGUMENT: there is none.
SAP_API sap_status sap_recording_attribute(const sap_recording* recording, const char* name,
                                           const char* attribute, char* out, size_t size,
                                           sap_error* error);
// Element `index` of a list of names ("model/bodies"), cut to `size` bytes. ARGUMENT: there is
// none.
SAP_API sap_status sap_recording_text(const sap_recording* recording, const char* name,
                                      int64_t index, char* out, size_t size, sap_error* error);
// Rows first ... first + count - 1 of a data set, row by row (count x columns).
SAP_API sap_status sap_recording_read(const sap_recording* recording, const char* name,
                                      int64_t first, int64_t count, double* out, sap_error* error);

#ifdef __cplusplus
}
#endif

#endif
