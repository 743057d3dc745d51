// SPDX-License-Identifier: BSD-3-Clause
// A builder must refuse a bad definition with a reason and add nothing.
#ifndef SAP_TEST_SUPPORT_REFUSED_H
#define SAP_TEST_SUPPORT_REFUSED_H

#include "multibody/model/builder.h"

typedef struct builder_counts {
  int32_t of[16];
} builder_counts;

builder_counts builder_count_all(const sap_builder* builder);
// Fails the test unless the status is as expected, the message contains `text`, and the builder
// has what it had before.
void builder_expect_refused(const sap_builder* builder, builder_counts before, sap_status status,
                            const sap_error* error, sap_status expected, const char* text);

// Refuses the definition that good_KIND() makes, after `change` (of def). The message begins with
// the kind.
#define REJECT_DEF(builder, kind, change, expected, text)                                       \
  do {                                                                                          \
    sap_##kind##_def def = good_##kind();                                                       \
    change;                                                                                     \
    sap_error error = {0};                                                                      \
    int32_t id = -7;                                                                            \
    const builder_counts before = builder_count_all(builder);                                   \
    const sap_status status = sap_builder_add_##kind(builder, &def, &id, &error);               \
    builder_expect_refused(builder, before, status, &error, SAP_STATUS_##expected, #kind text); \
    assert_int_equal(id, -7);                                                                   \
  } while (0)

#endif
