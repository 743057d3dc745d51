// SPDX-License-Identifier: BSD-3-Clause
// Names and units of the coordinates of joints, as columns of tables have them. All in this header,
// as the program uses it beside a shared library.
#pragma once

#include <sapstep/model.h>

typedef struct sap_coordinate {
  const char *name, *unit;  // "wx", "rad/s"; name "": the joint has only this one
} sap_coordinate;

// Returns the coordinates of a joint in q, or in v; name NULL ends the list.
static inline const sap_coordinate* sap_joint_coordinates(sap_joint_type type, bool velocities) {
  static const sap_coordinate lists[][2][8] = {
      [SAP_JOINT_FREE] =
          {{{"x", "m"}, {"y", "m"}, {"z", "m"}, {"qw", ""}, {"qx", ""}, {"qy", ""}, {"qz", ""}},
           {{"x", "m/s"},
            {"y", "m/s"},
            {"z", "m/s"},
            {"wx", "rad/s"},
            {"wy", "rad/s"},
            {"wz", "rad/s"}}},
      [SAP_JOINT_BALL] = {{{"qw", ""}, {"qx", ""}, {"qy", ""}, {"qz", ""}},
                          {{"wx", "rad/s"}, {"wy", "rad/s"}, {"wz", "rad/s"}}},
      [SAP_JOINT_HINGE] = {{{"", "rad"}}, {{"", "rad/s"}}},
      [SAP_JOINT_SLIDE] = {{{"", "m"}}, {{"", "m/s"}}},
  };
  return lists[type][velocities];
}
