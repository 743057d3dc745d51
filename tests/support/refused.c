// SPDX-License-Identifier: BSD-3-Clause
#include "support/refused.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

builder_counts builder_count_all(const sap_builder* b) {
  return (builder_counts){{b->nbodies, b->njoints, b->nshapes, b->ntendons, b->ntendon_joints,
                           b->nactuators, b->nexclusions, b->nkeys, b->nq, b->nv, b->na,
                           b->ntendon_points, b->nequalities, b->nsprings, b->nbushings,
                           b->npairs}};
}

void builder_expect_refused(const sap_builder* builder, builder_counts before, sap_status status,
                            const sap_error* error, sap_status expected, const char* text) {
  const builder_counts after = builder_count_all(builder);
  if (status != expected || error->status != expected) {
    fail_msg("status %s, expected %s: %s", sap_status_text(status), sap_status_text(expected),
             error->message);
  }
  if (strstr(error->message, text) == NULL) {
    fail_msg("'%s' does not say '%s'", error->message, text);
  }
  assert_memory_equal(&before, &after, sizeof before);
}
