// SPDX-License-Identifier: BSD-3-Clause
// core/hash_map.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/hash_map.h"

enum { COUNT = 1000 };

// Keys as the assembly makes them: ids in the upper bits only.
static uint64_t upper_key(int32_t i) {
  return UINT64_C(5) << 60 | (uint64_t)i << 40;
}

// Steps from the slot where a search for the key begins to the key's own slot, summed over all
// keys; the search begins at the key's own slot if the table holds nothing else.
static int64_t distance_sum(const sap_hash_map* map) {
  int64_t sum = 0;
  for (int32_t i = 0; i < map->count; ++i) {
    int32_t slot = 0;
    while (map->slots[slot] != i + 1) {
      ++slot;
    }
    sap_hash_map alone = {0};
    assert_int_equal(sap_hash_map_reserve(&alone, COUNT, NULL), SAP_STATUS_OK);
    assert_int_equal(alone.nslots, map->nslots);
    sap_hash_map_add(&alone, map->keys[i]);
    int32_t home = 0;
    while (alone.slots[home] == 0) {
      ++home;
    }
    sum += (slot - home + map->nslots) % map->nslots;
    sap_hash_map_free(&alone);
  }
  return sum;
}

static void finds_what_was_added(void** state) {
  (void)state;
  sap_hash_map map = {0};
  assert_int_equal(sap_hash_map_find(&map, 7), -1);
  for (int32_t i = 0; i < COUNT; ++i) {
    assert_int_equal(sap_hash_map_reserve(&map, i + 1, NULL), SAP_STATUS_OK);
    assert_int_equal(sap_hash_map_find(&map, upper_key(i)), -1);
    assert_int_equal(sap_hash_map_add(&map, upper_key(i)), i);
    assert_int_equal(sap_hash_map_add(&map, upper_key(i)), i);
  }
  for (int32_t i = 0; i < COUNT; ++i) {
    assert_int_equal(sap_hash_map_find(&map, upper_key(i)), i);
  }
  sap_hash_map_clear(&map);
  assert_int_equal(sap_hash_map_find(&map, upper_key(0)), -1);
  assert_int_equal(sap_hash_map_add(&map, 0), 0);
  assert_int_equal(sap_hash_map_find(&map, 0), 0);
  sap_hash_map_free(&map);
}

static void keys_of_upper_bits_spread(void** state) {
  (void)state;
  sap_hash_map map = {0};
  assert_int_equal(sap_hash_map_reserve(&map, COUNT, NULL), SAP_STATUS_OK);
  for (int32_t i = 0; i < COUNT; ++i) {
    sap_hash_map_add(&map, upper_key(i));
  }
  // Linear probing at a load of 1/2 takes 0.5 steps of a key in the mean (Knuth, vol. 3, 6.4).
  assert_true(distance_sum(&map) < COUNT);
  sap_hash_map_free(&map);
}

static sap_status archive(void* map, sap_archive* to, sap_error* error) {
  return sap_hash_map_archive(map, to, error);
}

static void archive_keeps_the_indices(void** state) {
  (void)state;
  sap_hash_map map = {0}, loaded = {0};
  assert_int_equal(sap_hash_map_reserve(&map, COUNT, NULL), SAP_STATUS_OK);
  for (int32_t i = 0; i < COUNT; ++i) {
    sap_hash_map_add(&map, upper_key(i));
  }
  static unsigned char bytes[COUNT * sizeof(uint64_t) + 64];
  size_t size = 0;
  assert_int_equal(sap_archive_to_bytes(archive, &map, bytes, sizeof bytes, &size, NULL),
                   SAP_STATUS_OK);
  assert_int_equal(sap_archive_from_bytes(archive, &loaded, bytes, size, NULL), SAP_STATUS_OK);
  for (int32_t i = 0; i < COUNT; ++i) {
    assert_int_equal(sap_hash_map_find(&loaded, upper_key(i)), i);
  }
  // Bytes of another origin: equal keys neither hang the search nor lead outside.
  memset(bytes + sizeof(int32_t), 0x5a, size - sizeof(int32_t));
  assert_int_equal(sap_archive_from_bytes(archive, &loaded, bytes, size, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_hash_map_find(&loaded, UINT64_C(0x5a5a5a5a5a5a5a5a)), 0);
  assert_int_equal(sap_hash_map_find(&loaded, 1), -1);
  sap_archive forget = {.mode = SAP_ARCHIVE_FORGET};
  assert_int_equal(sap_hash_map_archive(&loaded, &forget, NULL), SAP_STATUS_OK);
  assert_int_equal(sap_hash_map_find(&loaded, UINT64_C(0x5a5a5a5a5a5a5a5a)), -1);
  sap_hash_map_free(&map);
  sap_hash_map_free(&loaded);
}

static void names_keep_their_first_id(void** state) {
  (void)state;
  static char texts[COUNT][8];
  sap_name_map map = {0};
  bool added = false;
  assert_int_equal(sap_name_map_find(&map, "a"), -1);
  for (int32_t i = 0; i < COUNT; ++i) {
    (void)memcpy(
        texts[i],
        (char[]){'n', (char)('0' + i / 100), (char)('0' + i / 10 % 10), (char)('0' + i % 10), '\0'},
        5);
    assert_int_equal(sap_name_map_add(&map, texts[i], 3 * i, &added, NULL), SAP_STATUS_OK);
    assert_true(added);
  }
  assert_int_equal(sap_name_map_add(&map, "n007", 1, &added, NULL), SAP_STATUS_OK);
  assert_false(added);
  for (int32_t i = 0; i < COUNT; ++i) {
    assert_int_equal(sap_name_map_find(&map, texts[i]), 3 * i);
  }
  assert_int_equal(sap_name_map_find(&map, "n"), -1);
  sap_name_map_clear(&map);
}

static void names_of_equal_hash_differ(void** state) {
  (void)state;
  sap_name_map map = {0};
  assert_int_equal(sap_name_map_add(&map, "other", 1, NULL, NULL), SAP_STATUS_OK);
  // As if "other" had the hash of "name".
  sap_hash_map_clear(&map.hashes);
  assert_int_equal(sap_hash_map_add(&map.hashes, sap_hash(SAP_HASH_START, "name", 4)), 0);
  assert_int_equal(sap_name_map_find(&map, "name"), -1);
  bool added = false;
  assert_int_equal(sap_name_map_add(&map, "name", 2, &added, NULL), SAP_STATUS_OK);
  assert_true(added);
  assert_int_equal(sap_name_map_find(&map, "name"), 2);
  sap_name_map_clear(&map);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(finds_what_was_added),       cmocka_unit_test(keys_of_upper_bits_spread),
      cmocka_unit_test(archive_keeps_the_indices),  cmocka_unit_test(names_keep_their_first_id),
      cmocka_unit_test(names_of_equal_hash_differ),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
