// SPDX-License-Identifier: BSD-3-Clause
#include "support/mutate_checkpoints.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "support/scratch.h"

enum { HEAD = 80 };  // bytes of the header, or most of it

static mutate_bytes read_bytes(const char* path) {
  mutate_bytes out = {0};
  out.bytes = (unsigned char*)scratch_read(path, &out.size);
  assert_non_null(out.bytes);
  return out;
}

// True: it was taken.
static bool read_damaged(const mutate_run* run, const char* path) {
  double before[MUTATE_STATE], after[MUTATE_STATE];
  sap_error error = {0};
  int64_t steps = -5;
  const int count = run->state(run->context, before);
  assert_in_range(count, 1, MUTATE_STATE);
  const sap_status status = run->read(run->context, path, &steps, &error);
  if (status == SAP_STATUS_OK) {
    assert_true(steps >= 0);
    run->go_on(run->context);
    return true;
  }
  assert_int_equal(error.status, status);
  assert_true(error.message[0] != '\0');
  assert_int_equal(steps, -5);
  assert_int_equal(run->state(run->context, after), count);
  assert_memory_equal(before, after, (size_t)count * sizeof *before);
  return false;
}

void mutate_checkpoints(const mutate_run* run, const char* whole, const char* other, int cases,
                        uint64_t seed) {
  const mutate_bytes files[2] = {read_bytes(whole), read_bytes(other)};
  scratch s;
  char path[SCRATCH_PATH_SIZE];
  int taken = 0;
  scratch_begin(&s);
  for (int i = 0; i < cases; ++i) {
    size_t size = files[0].size;
    unsigned char* damaged = i % 2 == 0 ? mutate(&files[0], &files[1], &seed, &size)
                                        : mutate_sealed(&files[0], HEAD, &seed);
    assert_non_null(damaged);
    (void)scratch_write(&s, "damaged", damaged, size, path);
    free(damaged);
    taken += read_damaged(run, path) ? 1 : 0;
  }
  // Half of them break the checksum; of the others some change a number that may be any.
  assert_in_range(taken, cases / 100, cases / 2);
  scratch_end(&s);
  free((void*)files[0].bytes);
  free((void*)files[1].bytes);
}
