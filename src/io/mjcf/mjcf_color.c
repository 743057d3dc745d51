// SPDX-License-Identifier: BSD-3-Clause
// Colour of a geom: its own rgba, else that of its material.
#include <math.h>
#include <string.h>

#include "io/mjcf/mjcf.h"
#include "io/mjcf/mjcf_instance.h"
#include "io/xml/number.h"

static const sap_xml_node* find_material(const sap_mjcf_model* model, const char* name) {
  for (const sap_xml_node* s = model->root->first_child; s != NULL; s = s->next) {
    const sap_xml_node* n = sap_xml_is(s, "asset") ? s->first_child : NULL;
    for (; n != NULL; n = n->next) {
      const char* own = sap_xml_is(n, "material") ? sap_xml_get(n, "name") : NULL;
      if (own != NULL && strcmp(own, name) == 0) {
        return n;
      }
    }
  }
  return NULL;
}

sap_status sap_mjcf_read_color(sap_mjcf_reader* r, const sap_mjcf_sources* s,
                               const sap_mjcf_model* model, double color[4]) {
  sap_status status = SAP_STATUS_OK;
  const sap_xml_node* named = sap_mjcf_source(s, "material");
  if (sap_mjcf_source(s, "rgba") != NULL) {
    status = sap_mjcf_numbers(r, s, "rgba", (const int32_t[]){4, 4}, color, NULL);
  } else if (named != NULL) {
    const sap_xml_node* material = find_material(model, sap_xml_get(named, "material"));
    if (material != NULL) {
      status = sap_xml_optional(material, "rgba", 4, 4, color, r->error);
    }
  }
  for (int k = 0; k < 4; ++k) {
    color[k] = isnan(color[k]) ? color[k] : fmin(fmax(color[k], 0.0), 1.0);
  }
  return status;
}
