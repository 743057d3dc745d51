// SPDX-License-Identifier: BSD-3-Clause
// Cases over MPI ranks: each rank asks rank 0 for its next case and hands in its last one. A second
// set of functions is for builds without MPI.
#define _POSIX_C_SOURCE 200809L
#include <stdlib.h>

#include "cli/commands/sweep/study.h"

#ifdef SAPSTEP_MPI
#include <mpi.h>

// True if mpirun of Open MPI or MPICH's Hydra started the program.
static bool under_mpirun(void) {
  return getenv("OMPI_COMM_WORLD_SIZE") != NULL || getenv("PMI_SIZE") != NULL;
}

static bool running(void) {
  int begun = 0, ended = 0;
  (void)MPI_Initialized(&begun);
  (void)MPI_Finalized(&ended);
  return begun != 0 && ended == 0;
}

// Only the main thread calls MPI.
void study_mpi_begin(void) {
  int provided;
  if (under_mpirun()) {
    (void)MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided);
  }
}

void study_mpi_end(void) {
  if (running()) {
    (void)MPI_Finalize();
  }
}

int study_mpi_rank(void) {
  int rank = 0;
  if (running()) {
    (void)MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  }
  return rank;
}

int study_mpi_size(void) {
  int size = 1;
  if (running()) {
    (void)MPI_Comm_size(MPI_COMM_WORLD, &size);
  }
  return size;
}

bool study_mpi_agree(bool good, uint64_t hash) {
  if (!running()) {
    return good;
  }
  // The largest of h and of ~h tell whether all h are equal.
  const uint64_t mine[3] = {good ? 0u : 1u, hash, ~hash};
  uint64_t all[3];
  (void)MPI_Allreduce(mine, all, 3, MPI_UINT64_T, MPI_MAX, MPI_COMM_WORLD);
  return all[0] == 0 && all[1] == ~all[2];
}

bool study_mpi_poll(study_row* row, int* rank) {
  int waiting = 0;
  MPI_Status status;
  if (!running()) {
    return false;
  }
  (void)MPI_Iprobe(MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &waiting, &status);
  if (waiting != 0) {
    *rank = status.MPI_SOURCE;
    (void)MPI_Recv(row, (int)sizeof *row, MPI_BYTE, *rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  return waiting != 0;
}

void study_mpi_answer(int rank, int64_t index) {
  (void)MPI_Send(&index, 1, MPI_INT64_T, rank, 0, MPI_COMM_WORLD);
}

int64_t study_mpi_ask(const study_row* row) {
  int64_t next = -1;
  (void)MPI_Send(row, (int)sizeof *row, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
  (void)MPI_Recv(&next, 1, MPI_INT64_T, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  return next;
}

#else

// Ranks that cannot talk would all do the same work and write the same files.
void study_mpi_begin(void) {
  const char* size = getenv("OMPI_COMM_WORLD_SIZE");
  if (size != NULL && atoi(size) > 1) {
    cli_message("this build has no MPI: install libopenmpi-dev and build again");
    exit(CLI_USAGE);
  }
}

void study_mpi_end(void) {
}

int study_mpi_rank(void) {
  return 0;
}

int study_mpi_size(void) {
  return 1;
}

bool study_mpi_agree(bool good, uint64_t hash) {
  (void)hash;
  return good;
}

bool study_mpi_poll(study_row* row, int* rank) {
  (void)row;
  (void)rank;
  return false;
}

void study_mpi_answer(int rank, int64_t index) {
  (void)rank;
  (void)index;
}

int64_t study_mpi_ask(const study_row* row) {
  (void)row;
  return -1;
}

#endif
