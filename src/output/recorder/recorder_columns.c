// SPDX-License-Identifier: BSD-3-Clause
// The data sets that grow with the run.
#include "core/memory.h"
#include "output/recorder/recorder_data.h"

#ifdef SAPSTEP_HDF5

enum {
  MANY_ROWS = 1024,           // of a chunk of contacts, constraint rows, iterations
  CHUNK_BYTES = 1024 * 1024,  // of rows from one flush to the next, about
  CHUNK_ROWS = 2048           // at most
};

static int32_t rows_of_chunk(const sap_recorder* recorder, const sap_recorder_options* options) {
  const sap_model_sizes* n = &recorder->sizes;
  const int64_t bytes =
      8 * ((int64_t)n->nq + n->nv + n->na + n->nu + 29) + 4 * 7 * (int64_t)n->bodies;
  const int64_t rows = CHUNK_BYTES / bytes;
  if (options->flush_rows > 0) {
    return options->flush_rows;
  }
  return (int32_t)(rows < 1 ? 1 : rows > CHUNK_ROWS ? CHUNK_ROWS : rows);
}

bool sap_recorder_create_columns(sap_recorder* recorder, const sap_recorder_options* options) {
  const sap_model_sizes* n = &recorder->sizes;
  const sap_hdf5_column_def defs[SAP_RECORD_COLUMNS] = {
      [SAP_RECORD_TIME] = {.name = "time", .units = "s"},
      [SAP_RECORD_Q] = {.name = "q", .width = n->nq, .units = "m, rad"},
      [SAP_RECORD_V] = {.name = "v", .width = n->nv, .units = "m/s, rad/s"},
      [SAP_RECORD_ACT] = {.name = "act", .width = n->na, .units = "1"},
      [SAP_RECORD_POSE] = {"pose", SAP_HDF5_SHORT, 7 * n->bodies, 0, 0, "m, 1",
                           "x,y,z,qw,qx,qy,qz of each body"},
      [SAP_RECORD_ENERGY] = {"energy", SAP_HDF5_REAL, 3, 0, 0, "J", "kinetic,gravity,springs"},
      [SAP_RECORD_MOMENTUM] = {"momentum", SAP_HDF5_REAL, 6, 0, 0, "kg m/s, kg m^2/s",
                               "px,py,pz,Lx,Ly,Lz"},
      [SAP_RECORD_STEP] = {"step", SAP_HDF5_REAL, SAP_RECORD_STEP_WIDTH, 0, 0, "see columns",
                           "newton_iterations,converged,momentum_error,cost_J,factorizations,"
                           "evaluations,free_motion_iterations,free_motion_residual,time_s,rows,"
                           "dt_s,time_solver_s,islands"},
      [SAP_RECORD_ACTUATOR_FORCE] = {.name = "actuator/force", .width = n->nu, .units = "N, N m"},
      [SAP_RECORD_CONTACT_FIRST] = {"contact/first", SAP_HDF5_INTEGER, 0, 0, 0, "1", NULL},
      [SAP_RECORD_CONTACT_COUNT] = {"contact/count", SAP_HDF5_INTEGER, 0, 0, 0, "1", NULL},
      [SAP_RECORD_BLOCK_FIRST] = {"constraint/first", SAP_HDF5_INTEGER, 0, 0, 0, "1", NULL},
      [SAP_RECORD_BLOCK_COUNT] = {"constraint/count", SAP_HDF5_INTEGER, 0, 0, 0, "1", NULL},
      [SAP_RECORD_ITERATION_FIRST] = {"iteration/first", SAP_HDF5_INTEGER, 0, 0, 0, "1", NULL},
      [SAP_RECORD_ITERATION_COUNT] = {"iteration/count", SAP_HDF5_INTEGER, 0, 0, 0, "1", NULL},
      [SAP_RECORD_CONTACT_ID] = {"contact/id", SAP_HDF5_IDENTITY, 6, 0, 0, "1",
                                 "body_A,body_B,shape_A,shape_B,feature,mode"},
      [SAP_RECORD_CONTACT_POINT] = {"contact/point", SAP_HDF5_REAL, 3, 0, 0, "m", "x,y,z"},
      [SAP_RECORD_CONTACT_FRAME] = {"contact/frame", SAP_HDF5_REAL, 9, 0, 0, "1",
                                    "t1x,t1y,t1z,t2x,t2y,t2z,nx,ny,nz"},
      [SAP_RECORD_CONTACT_DISTANCE] = {.name = "contact/distance", .units = "m"},
      [SAP_RECORD_CONTACT_VELOCITY] = {"contact/velocity", SAP_HDF5_REAL, 3, 0, 0, "m/s",
                                       "t1,t2,n"},
      [SAP_RECORD_CONTACT_IMPULSE] = {"contact/impulse", SAP_HDF5_REAL, 3, 0, 0, "N s", "t1,t2,n"},
      [SAP_RECORD_CONTACT_TURNING] = {"contact/turning", SAP_HDF5_REAL, 3, 0, 0, "rad/s",
                                      "spin,roll1,roll2"},
      [SAP_RECORD_CONTACT_MOMENT] = {"contact/moment", SAP_HDF5_REAL, 3, 0, 0, "N m s",
                                     "spin,roll1,roll2"},
      [SAP_RECORD_BLOCK_ID] = {"constraint/id", SAP_HDF5_IDENTITY, 3, 0, 0, "1", "kind,id,row"},
      [SAP_RECORD_BLOCK_FORCE] = {.name = "constraint/force", .units = "N, N m"},
      [SAP_RECORD_ITERATION] = {"iteration/value", SAP_HDF5_REAL, 4, 0, 0, "see columns",
                                "cost_J,momentum_error,step_length,evaluations"},
  };
  const int32_t rows = rows_of_chunk(recorder, options);
  for (int i = 0; i < SAP_RECORD_COLUMNS; ++i) {
    sap_hdf5_column_def def = defs[i];
    def.capacity = i < SAP_RECORD_CONTACT_ID ? rows : MANY_ROWS;
    def.compression = options->compression;
    const bool empty = (i == SAP_RECORD_Q && n->nq == 0) || (i == SAP_RECORD_V && n->nv == 0) ||
                       (i == SAP_RECORD_ACT && n->na == 0) ||
                       (i == SAP_RECORD_ACTUATOR_FORCE && n->nu == 0);
    if (!empty &&
        !sap_hdf5_column_create(recorder->file, &def, &recorder->columns[i], &recorder->failure)) {
      return false;
    }
  }
  return true;
}

#endif
