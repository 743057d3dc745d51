// SPDX-License-Identifier: BSD-3-Clause
// One MJCF model: a file with its includes, compiler settings, default classes and the models that
// it attaches.
#ifndef SAP_IO_MJCF_MJCF_MODEL_H
#define SAP_IO_MJCF_MJCF_MODEL_H

#include "io/mjcf/mjcf.h"

enum { SAP_MJCF_FALSE, SAP_MJCF_TRUE, SAP_MJCF_AUTO };

typedef struct sap_mjcf_compiler {
  double angle_unit;  // [rad] per unit of the file's angles
  char euler_sequence[4];
  bool auto_limits;
  bool balance_inertia;
  bool fit_span;              // fitaabb
  int32_t inertia_from_geom;  // false, true or auto
  int32_t group_range[2];
  double bound_mass, bound_inertia;  // lower bounds [kg, kg m^2]
  double total_mass;                 // settotalmass [kg]; > 0: scales all masses and inertias
  bool use_lengths, use_limits;      // of <lengthrange>: useexisting, uselimit
} sap_mjcf_compiler;

typedef struct sap_mjcf_class {
  const char* name;
  int32_t parent;  // -1: none
  const sap_xml_node* node;
} sap_mjcf_class;

struct sap_mjcf_model {
  const sap_xml_node* root;
  sap_mjcf_compiler compiler;
  sap_mjcf_class* classes;
  int32_t class_count, class_capacity;
  int32_t main_class;          // -1: no defaults
  const char* name;            // as an asset
  const sap_mjcf_model* user;  // the model whose asset this is; NULL: the main file
  sap_mjcf_model* assets;      // list of the models in <asset>
  sap_mjcf_model* next;
};

// Expands includes, checks the schema, reads settings, classes and assets.
sap_status sap_mjcf_load_model(sap_mjcf_reader* r, const char* path, sap_xml_node* root,
                               const sap_mjcf_model* user, sap_mjcf_model** out);
void sap_mjcf_free_model(sap_mjcf_model* model);
// Returns the index of a class, -1 without one.
int32_t sap_mjcf_find_class(const sap_mjcf_model* model, const char* name);
// Reads <option> of the main file into the builder's options and the reader's flags.
sap_status sap_mjcf_model_options(sap_mjcf_reader* r, sap_model_options* options);

#endif
