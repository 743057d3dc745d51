// SPDX-License-Identifier: BSD-3-Clause
// Memory of a stepper, forgotten, saved and loaded: the count of steps, predictions of the free
// motion and of the end of the step, what the linear balance missed, the solver's impulses, forces
// of lagged contacts, and the memory of its error control and of the system.
#include <string.h>

#include "core/archive.h"
#include "integrators/stepper.h"
#include "problem/law.h"
#include "problem/problem_data.h"
#include "solvers/registry.h"

// Precedes the memory itself. Any change of the fields is a new version.
typedef struct memory_header {
  char magic[8];
  uint32_t version, header_size;
  int32_t nq, nv, ntrees, spare;
  uint64_t solver;   // hash of its name
  uint64_t control;  // hash of an error control's options, 0: none
  uint64_t payload_size;
  uint64_t checksum;  // of the payload
} memory_header;

static const char MAGIC[8] = "SAPMEM\n";
enum { VERSION = 10 };

// Passes the request of the archive's mode to the system, if it has memory: its size and its bytes.
static sap_status archive_system(sap_stepper* stepper, sap_archive* archive, sap_error* error) {
  static const sap_memory_request requests[] = {[SAP_ARCHIVE_SAVE] = SAP_MEMORY_SAVE,
                                                [SAP_ARCHIVE_RESERVE] = SAP_MEMORY_CHECK,
                                                [SAP_ARCHIVE_LOAD] = SAP_MEMORY_LOAD,
                                                [SAP_ARCHIVE_FORGET] = SAP_MEMORY_FORGET};
  const sap_system* system = &stepper->system;
  const sap_archive_mode mode = archive->mode;
  if (system->memory == NULL) {
    return SAP_STATUS_OK;
  }
  size_t size = 0;
  int code = 0;
  if (mode == SAP_ARCHIVE_SIZE || mode == SAP_ARCHIVE_SAVE) {
    code = system->memory(system->context, SAP_MEMORY_SIZE, NULL, &size);
  }
  SAP_TRY(sap_callback_check("memory", code, error));
  SAP_TRY(sap_archive_number(archive, &size, sizeof size, error));
  if (mode != SAP_ARCHIVE_SIZE) {
    const bool forgets = mode == SAP_ARCHIVE_FORGET;
    SAP_FAIL_IF(!forgets && size > archive->size - archive->at, error, SAP_STATUS_ARGUMENT,
                "saved memory is too short");
    code = system->memory(system->context, requests[mode],
                          forgets ? NULL : archive->bytes + archive->at, forgets ? NULL : &size);
  }
  archive->at += size;
  return sap_callback_check("memory", code, error);
}

sap_status sap_stepper_archive_first(void* object, sap_archive* archive, sap_error* error) {
  sap_stepper* stepper = object;
  SAP_TRY(sap_problem_archive(stepper->solution.contact.problem, archive, error));
  SAP_TRY(sap_solver_archive(stepper->solution.contact.solver, archive, error));
  return archive_system(stepper, archive, error);
}

// The memory of steps.
static sap_status archive_steps(sap_stepper* stepper, sap_archive* archive, sap_error* error) {
  sap_relinearize* solution = &stepper->solution;
  SAP_TRY(sap_archive_value(archive, &stepper->clock, sizeof stepper->clock, error));
  SAP_TRY(sap_prediction_archive(&solution->free_motion.prediction, archive, error));
  SAP_TRY(sap_linearization_archive(&solution->free_motion, archive, error));
  SAP_TRY(sap_prediction_archive(&solution->prediction, archive, error));
  return sap_stepper_archive_first(stepper, archive, error);
}

// The same with that of an error control.
static sap_status archive_all(void* object, sap_archive* archive, sap_error* error) {
  sap_stepper* stepper = object;
  const sap_step_control* control = &stepper->control;
  SAP_TRY(control->archive != NULL ? control->archive(control->object, archive, error)
                                   : SAP_STATUS_OK);
  return archive_steps(stepper, archive, error);
}

void sap_stepper_forget_steps(sap_stepper* stepper) {
  sap_archive archive = {.mode = SAP_ARCHIVE_FORGET};
  (void)archive_steps(stepper, &archive, NULL);  // forgetting cannot fail
}

void sap_stepper_forget(sap_stepper* stepper) {
  if (stepper != NULL) {
    sap_archive archive = {.mode = SAP_ARCHIVE_FORGET};
    (void)archive_all(stepper, &archive, NULL);
  }
}

sap_status sap_stepper_keep(sap_stepper* stepper, void* bytes, size_t capacity, size_t* size,
                            sap_error* error) {
  return sap_archive_to_bytes(archive_all, stepper, bytes, capacity, size, error);
}

sap_status sap_stepper_save_memory(sap_stepper* stepper, void* bytes, size_t capacity, size_t* size,
                                   sap_error* error) {
  SAP_NOT_NULL(error, stepper, size);
  size_t payload_size;
  SAP_TRY(sap_stepper_keep(stepper, NULL, 0, &payload_size, error));
  memory_header header = {.version = VERSION,
                          .header_size = sizeof header,
                          .nq = stepper->system.nq,
                          .nv = stepper->system.nv,
                          .ntrees = stepper->system.ntrees,
                          .solver = stepper->solver_hash,
                          .control = stepper->control.hash,
                          .payload_size = payload_size};
  const size_t needed = sizeof header + header.payload_size;
  SAP_FAIL_IF(bytes != NULL && capacity < needed, error, SAP_STATUS_ARGUMENT,
              "capacity = %zu must be >= %zu bytes", capacity, needed);
  *size = needed;
  if (bytes == NULL) {
    return SAP_STATUS_OK;
  }
  unsigned char* payload = (unsigned char*)bytes + sizeof header;
  SAP_TRY(sap_stepper_keep(stepper, payload, capacity - sizeof header, &payload_size, error));
  memcpy(header.magic, MAGIC, sizeof header.magic);
  header.checksum = sap_hash(SAP_HASH_START, payload, header.payload_size);
  memcpy(bytes, &header, sizeof header);
  return SAP_STATUS_OK;
}

static sap_status check_header(const sap_stepper* stepper, const unsigned char* bytes, size_t size,
                               memory_header* header, sap_error* error) {
  SAP_FAIL_IF(size < sizeof *header || memcmp(bytes, MAGIC, sizeof MAGIC) != 0, error,
              SAP_STATUS_ARGUMENT, "these bytes are no stepper's memory");
  memcpy(header, bytes, sizeof *header);
  SAP_FAIL_IF(header->version != VERSION || header->header_size != sizeof *header, error,
              SAP_STATUS_ARGUMENT, "stepper's memory has version %u, this library reads %d",
              header->version, VERSION);
  const sap_system* system = &stepper->system;
  SAP_FAIL_IF(
      header->nq != system->nq || header->nv != system->nv || header->ntrees != system->ntrees,
      error, SAP_STATUS_ARGUMENT,
      "stepper's memory is of a system with nq = %d, nv = %d and %d trees, this one "
      "has nq = %d, nv = %d and %d",
      header->nq, header->nv, header->ntrees, system->nq, system->nv, system->ntrees);
  SAP_FAIL_IF(header->solver != stepper->solver_hash, error, SAP_STATUS_ARGUMENT,
              "stepper's memory is of another contact solver");
  SAP_FAIL_IF(header->control != stepper->control.hash, error, SAP_STATUS_ARGUMENT,
              header->control == 0         ? "stepper's memory is of steps of one length"
              : stepper->control.hash == 0 ? "stepper's memory is of error-controlled steps"
                                           : "stepper's memory is of another accuracy");
  SAP_FAIL_IF(header->payload_size != size - sizeof *header ||
                  header->checksum !=
                      sap_hash(SAP_HASH_START, bytes + sizeof *header, header->payload_size),
              error, SAP_STATUS_ARGUMENT, "stepper's memory is damaged or cut off");
  return SAP_STATUS_OK;
}

sap_status sap_stepper_restore(sap_stepper* stepper, const void* bytes, size_t size,
                               sap_error* error) {
  return sap_archive_from_bytes(archive_all, stepper, bytes, size, error);
}

sap_status sap_stepper_load_memory(sap_stepper* stepper, const void* bytes, size_t size,
                                   sap_error* error) {
  SAP_NOT_NULL(error, stepper, bytes);
  memory_header header;
  SAP_TRY(check_header(stepper, bytes, size, &header, error));
  return sap_stepper_restore(stepper, (const unsigned char*)bytes + sizeof header,
                             header.payload_size, error);
}
