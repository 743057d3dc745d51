// SPDX-License-Identifier: BSD-3-Clause
// Structs of options as tables. Each struct has one X-macro list in its public header,
//   X(type, name, default, minimum, maximum, "meaning [unit]")
// from which come its fields and, through sap_option, its defaults, its check, the options of the
// program, the parameters of studies and what checkpoints compare.
#pragma once

#include "core/error.h"

typedef enum sap_option_kind {
  SAP_OPTION_REAL,      // finite, minimum to maximum; infinite where the maximum is
  SAP_OPTION_POSITIVE,  // the same without the minimum itself
  SAP_OPTION_INTEGER,   // int32_t
  SAP_OPTION_BOOLEAN,
  SAP_OPTION_WORD,  // an enum
} sap_option_kind;

typedef struct sap_option {
  const char* name;  // as in C: "contact_law"
  sap_option_kind kind;
  size_t offset;  // in its struct [bytes]
  double value;   // the default
  double minimum, maximum;
  const char* meaning;
  const char* const* words;  // texts of the enum's values minimum to maximum; NULL of numbers
} sap_option;

typedef struct sap_option_table {
  const sap_option* options;
  int32_t count;
} sap_option_table;

// A row of a table from a row of a list; `field` is the member, also of a struct inside.
#define SAP_OPTION_ROW(owner, field, type, name, value, low, high, meaning) \
  {#name,           SAP_OPTION_KIND_##type, offsetof(owner, field),         \
   (double)(value), (double)(low),          (double)(high),                 \
   meaning,         SAP_OPTION_WORDS_##type},

#define SAP_OPTION_TABLE(rows)                       \
  (sap_option_table) {                               \
    (rows), (int32_t)(sizeof(rows) / sizeof *(rows)) \
  }

// Kinds of the lists' types. The file that declares an enum adds its SAP_OPTION_KIND_ and _WORDS_.
#define SAP_OPTION_KIND_real SAP_OPTION_REAL
#define SAP_OPTION_KIND_positive SAP_OPTION_POSITIVE
#define SAP_OPTION_KIND_integer SAP_OPTION_INTEGER
#define SAP_OPTION_KIND_boolean SAP_OPTION_BOOLEAN
#define SAP_OPTION_WORDS_real NULL
#define SAP_OPTION_WORDS_positive NULL
#define SAP_OPTION_WORDS_integer NULL
#define SAP_OPTION_WORDS_boolean NULL

// Marks options and definitions that a sap_..._default() made.
#define SAP_COOKIE UINT32_C(0x5a9057e9)
// Fails with ARGUMENT: "NAME is not initialized: use NAME_default()", or `cookie` is NULL.
sap_status sap_check_cookie(const char* name, const uint32_t* cookie, sap_error* error);

// The value as a number: 0 or 1 of booleans, the enumerator of words.
double sap_option_get(const sap_option* option, const void* options);
// Stores a value without checking it.
void sap_option_set(const sap_option* option, void* options, double value);
// Sets all options of a table to their defaults.
void sap_options_reset(sap_option_table table, void* options);

enum { SAP_OPTION_TEXT_SIZE = 160 };
// "0.005", "on", "rigid".
void sap_option_text(const sap_option* option, double value, char text[SAP_OPTION_TEXT_SIZE]);
// The values allowed: "finite and > 0 s", "in [0, 1]", "auto, end or theta". The unit is taken from
// the end of a meaning "... [unit]".
void sap_option_allowed(const sap_option* option, char text[SAP_OPTION_TEXT_SIZE]);

// Fails with ARGUMENT, or NOT_FINITE of a number that is not, at the first option out of range.
sap_status sap_options_check(sap_option_table table, const void* options, sap_error* error);

// Writes the values as doubles, (8 count) bytes.
void sap_options_save(sap_option_table table, const void* options, unsigned char* bytes);
// Fails with ARGUMENT at the first option that differs from the saved ones: "PATH: contact_law =
// rigid in the checkpoint, compliant here". time_limit, threads and check_input may differ: how
// long a step may take, who shares its work and what is checked before it change no bits.
sap_status sap_options_compare(const char* path, sap_option_table table, const void* options,
                               const unsigned char* bytes, sap_error* error);
