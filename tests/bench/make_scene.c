// SPDX-License-Identifier: BSD-3-Clause
// Writes the scenes of the benches as MJCF to standard output:
//   make_scene clutter N | clutter-open N | field N | tower N | chain N | chain-urdf N | hands |
//              humanoids N HUMANOID.xml | heap N | tray N | wall N | stack N | net N |
//              pyramid N
//   clutter       Castro et al. 2022, VI-C: columns of spheres and boxes fall into a bin
//   clutter-open  the same without walls
//   field         bodies apart on a plane, each at rest or falling on its own
//   tower         boxes, one on the other
//   chain         one tree of N hinged links that hangs from the world
//   chain-urdf    the same as URDF, which does not nest: readers of XML give up at some depth
//   humanoids     copies of a model with the body `torso`, in a square, that fall
//   hands         trees of arms over a heap of marbles: two of 7 + 4 x 4 joints, 16 marbles
//   heap          spheres and boxes fall into a bin about as wide as they are high in it
//   tray          the same, but the bin is a body on the floor
//   wall, stack   N x N bricks, N x N x N boxes, each layer half a brick or box aside
//   net           N x N spheres joined to their neighbours, over a sphere
//   pyramid       rows of N, N - 1, ... 1 boxes, as Box2D's
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// PCG-XSH-RR (O'Neill 2014), so that a scene is the same everywhere; uniform in [-1, 1].
static double jitter(uint64_t* state) {
  *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  const uint32_t mixed = (uint32_t)(((*state >> 18) ^ *state) >> 27);
  const uint32_t turn = (uint32_t)(*state >> 59);
  const uint32_t bits = (mixed >> turn) | (mixed << ((32 - turn) & 31));
  return (double)bits / 2147483648.0 - 1.0;
}

static void head(const char* name, int count, double dt) {
  (void)printf(
      "<mujoco model=\"%s_%d\">\n"
      "  <option timestep=\"%g\"/>\n"
      "  <custom>\n"
      "    <numeric name=\"sapstep:stiffness\" data=\"1e12\"/>\n"
      "    <numeric name=\"sapstep:relaxation_time\" data=\"0.01\"/>\n"
      "  </custom>\n"
      "  <default><geom friction=\"1\" density=\"1000\"/></default>\n"
      "  <worldbody>\n"
      "    <geom name=\"floor\" type=\"plane\" size=\"50 50 0.1\"/>\n",
      name, count, dt);
}

static void tail(void) {
  (void)printf("  </worldbody>\n</mujoco>\n");
}

static void body(int index, bool ball, const double p[3], uint64_t* state) {
  (void)printf(
      "    <body name=\"b%d\" pos=\"%.4f %.4f %.4f\" euler=\"%.1f %.1f %.1f\"><freejoint/>", index,
      p[0], p[1], p[2], 7.0 * jitter(state), 7.0 * jitter(state), 30.0 * jitter(state));
  (void)printf("<geom type=\"%s\" size=\"0.05%s\"/></body>\n", ball ? "sphere" : "box",
               ball ? "" : " 0.05 0.05");
}

static void clutter(int count, bool walls) {
  uint64_t state = 1;
  head(walls ? "clutter" : "clutter_open", count, 0.01);
  const double height = walls ? 0.4 + 0.01 * count : 0.0;
  for (int k = 0; walls && k < 4; ++k) {
    const double side = k % 2 == 0 ? 0.45 : -0.45;
    (void)printf("    <geom type=\"box\" pos=\"%g %g %g\" size=\"%g %g %g\"/>\n",
                 k < 2 ? side : 0.0, k < 2 ? 0.0 : side, height, k < 2 ? 0.05 : 0.5,
                 k < 2 ? 0.5 : 0.05, height);
  }
  for (int i = 0; i < count; ++i) {
    const double x = i % 2 == 0 ? -0.2 : 0.2, y = i % 4 < 2 ? -0.2 : 0.2;
    const double p[3] = {x + 0.015 * jitter(&state), y + 0.015 * jitter(&state),
                         0.08 + 0.125 * (i / 4)};
    body(i, jitter(&state) < 0.0, p, &state);
  }
  tail();
}

static int least_side(int count, int power) {
  int side = 1;
  while ((power == 2 ? side * side : side * side * side) < count) {
    ++side;
  }
  return side;
}

static void heap(int count, bool tray) {
  uint64_t state = 4;
  head(tray ? "tray" : "heap", count, 0.01);
  const int side = least_side(count, 3);
  const double pitch = 0.13, half = 0.5 * pitch * side, high = half + 0.2, thick = 0.05;
  if (tray) {
    (void)printf(
        "    <body name=\"tray\"><freejoint/>\n"
        "    <geom type=\"box\" pos=\"0 0 %g\" size=\"%g %g %g\"/>\n",
        thick, half + 2.0 * thick, half + 2.0 * thick, thick);
  }
  for (int k = 0; k < 4; ++k) {
    const double at = (k % 2 == 0 ? 1 : -1) * (half + thick), along = half + 2.0 * thick;
    (void)printf("    <geom type=\"box\" pos=\"%g %g %g\" size=\"%g %g %g\"/>\n", k < 2 ? at : 0.0,
                 k < 2 ? 0.0 : at, high + (tray ? 2.0 * thick : 0.0), k < 2 ? thick : along,
                 k < 2 ? along : thick, high);
  }
  if (tray) {
    (void)printf("    </body>\n");
  }
  for (int i = 0; i < count; ++i) {
    const double p[3] = {pitch * (i % side + 0.5) - half + 0.015 * jitter(&state),
                         pitch * (i / side % side + 0.5) - half + 0.015 * jitter(&state),
                         0.2 + pitch * (i / (side * side))};
    body(i, jitter(&state) < 0.0, p, &state);
  }
  tail();
}

static void lattice(int side, bool wall) {
  head(wall ? "wall" : "stack", side, 0.005);
  const double step[2] = {0.202, 0.102};
  for (int i = 0; i < (wall ? side * side : side * side * side); ++i) {
    const int layer = wall ? i / side : i / (side * side);
    const double x = step[wall ? 0 : 1] * (i % side + 0.5 * (layer % 2));
    const double y = wall ? 0.0 : step[1] * (i / side % side + 0.5 * (layer % 2));
    (void)printf(
        "    <body pos=\"%.4f %.4f %.4f\"><freejoint/>"
        "<geom type=\"box\" size=\"%g 0.05 0.05\"/></body>\n",
        x, y, 0.05 + 0.1 * layer, wall ? 0.1 : 0.05);
  }
  tail();
}

static void pyramid(int side) {
  head("pyramid", side, 0.01);
  for (int row = 0; row < side; ++row) {
    for (int i = 0; i < side - row; ++i) {
      (void)printf(
          "    <body pos=\"%.4f 0 %.4f\"><freejoint/>"
          "<geom type=\"box\" size=\"0.05 0.05 0.05\"/></body>\n",
          0.11 * (i - 0.5 * (side - row)), 0.05 + 0.1 * row);
    }
  }
  tail();
}

static void net(int side) {
  head("net", side, 0.005);
  const double pitch = 0.11;
  (void)printf("    <geom type=\"sphere\" size=\"%g\" pos=\"0 0 %g\"/>\n", 0.2 * pitch * side,
               0.2 * pitch * side);
  for (int i = 0; i < side * side; ++i) {
    (void)printf(
        "    <body name=\"b%d\" pos=\"%.4f %.4f %.4f\"><freejoint/>"
        "<geom type=\"sphere\" size=\"0.05\"/></body>\n",
        i, pitch * (i % side - 0.5 * side), pitch * (i / side - 0.5 * side),
        0.4 * pitch * side + 0.1);
  }
  (void)printf("  </worldbody>\n  <equality>\n");
  for (int i = 0; i < side * side; ++i) {
    for (int axis = 0; axis < 2; ++axis) {
      if (axis == 0 ? i % side + 1 < side : i / side + 1 < side) {
        (void)printf("    <connect body1=\"b%d\" body2=\"b%d\" anchor=\"%g %g 0\"/>\n", i,
                     i + (axis == 0 ? 1 : side), axis == 0 ? 0.5 * pitch : 0.0,
                     axis == 0 ? 0.0 : 0.5 * pitch);
      }
    }
  }
  (void)printf("  </equality>\n</mujoco>\n");
}

static void field(int count) {
  uint64_t state = 2;
  head("field", count, 0.01);
  const int side = least_side(count, 2);
  for (int i = 0; i < count; ++i) {
    const double p[3] = {0.3 * (i % side) - 0.15 * side, 0.3 * (i / side) - 0.15 * side,
                         0.09 + 0.04 * jitter(&state)};
    body(i, i % 2 == 0, p, &state);
  }
  tail();
}

static void tower(int count) {
  head("tower", count, 0.005);
  for (int i = 0; i < count; ++i) {
    (void)printf(
        "    <body name=\"b%d\" pos=\"0 0 %.4f\"><freejoint/>"
        "<geom type=\"box\" size=\"0.1 0.1 0.05\"/></body>\n",
        i, 0.05 + 0.1 * i);
  }
  tail();
}

static void link_open(const char* prefix, int index, const double p[3], int axis) {
  (void)printf(
      "<body name=\"%s%d\" pos=\"%g %g %g\"><joint axis=\"%d %d %d\" damping=\"0.01\"/>"
      "<geom type=\"capsule\" fromto=\"0 0 0 0 0 -0.1\" size=\"0.02\"/>\n",
      prefix, index, p[0], p[1], p[2], axis % 3 == 0, axis % 3 == 1, axis % 3 == 2);
}

static void close_bodies(int count) {
  for (int i = 0; i < count; ++i) {
    (void)printf("</body>");
  }
  (void)printf("\n");
}

static void chain(int count) {
  head("chain", count, 0.002);
  for (int i = 0; i < count; ++i) {
    const double p[3] = {0.0, 0.0, i == 0 ? 0.1 * count + 0.5 : -0.1};
    link_open("c", i, p, i % 2);
  }
  close_bodies(count);
  tail();
}

static void chain_urdf(int count) {
  (void)printf("<robot name=\"chain_%d\">\n  <link name=\"world\"/>\n", count);
  for (int i = 0; i < count; ++i) {
    (void)printf(
        "  <link name=\"l%d\"><inertial><origin xyz=\"0 0 -0.05\"/><mass value=\"0.2\"/>"
        "<inertia ixx=\"2e-4\" iyy=\"2e-4\" izz=\"4e-5\" ixy=\"0\" ixz=\"0\" iyz=\"0\"/>"
        "</inertial></link>\n",
        i);
  }
  for (int i = 0; i < count; ++i) {
    (void)printf("  <joint name=\"j%d\" type=\"continuous\">", i);
    if (i == 0) {
      (void)printf("<parent link=\"world\"/><child link=\"l0\"/><origin xyz=\"0 0 %g\"/>",
                   0.1 * count + 0.5);
    } else {
      (void)printf(
          "<parent link=\"l%d\"/><child link=\"l%d\"/><origin xyz=\"0 0 -0.1\" rpy=\"0.05 0 0\"/>",
          i - 1, i);
    }
    (void)printf("<axis xyz=\"%d %d 0\"/><dynamics damping=\"0.01\"/></joint>\n", i % 2 == 0,
                 i % 2);
  }
  (void)printf("</robot>\n");
}

static void humanoids(int count, const char* path) {
  const int side = least_side(count, 2);
  (void)printf(
      "<mujoco model=\"%d_humanoids\">\n  <option timestep=\"0.005\"/>\n"
      "  <size memory=\"200M\"/>\n  <asset><model name=\"humanoid\" file=\"%s\"/></asset>\n"
      "  <worldbody>\n    <geom type=\"plane\" size=\"50 50 1\"/>\n",
      count, path);
  for (int i = 0; i < count; ++i) {
    (void)printf(
        "    <frame pos=\"%d %d 0\"><attach model=\"humanoid\" body=\"torso\" prefix=\"h%d_\"/>"
        "</frame>\n",
        i % side, i / side, i);
  }
  tail();
}

// An arm of seven joints with a hand of four fingers of four joints, hanging down.
static void arm(const char* prefix, double x) {
  for (int i = 0; i < 7; ++i) {
    const double p[3] = {i == 0 ? x : 0.0, 0.0, i == 0 ? 1.15 : -0.1};
    link_open(prefix, i, p, i);
  }
  for (int f = 0; f < 4; ++f) {
    for (int i = 0; i < 4; ++i) {
      const double p[3] = {i == 0 ? 0.05 * (f % 2 == 0 ? 1 : -1) : 0.0,
                           i == 0 ? 0.05 * (f < 2 ? 1 : -1) : 0.0, -0.1};
      link_open(prefix, 7 + 4 * f + i, p, i % 2);
    }
    close_bodies(4);
  }
  close_bodies(7);
}

static void hands(void) {
  uint64_t state = 3;
  head("hands", 2, 0.005);
  arm("l", -0.15);
  arm("r", 0.15);
  for (int i = 0; i < 16; ++i) {
    const double p[3] = {0.11 * (i % 4) - 0.165 + 0.005 * jitter(&state),
                         0.11 * (i / 4) - 0.165 + 0.005 * jitter(&state), 0.06};
    body(i, true, p, &state);
  }
  tail();
}

int main(int argc, char** argv) {
  const char* kind = argc > 1 ? argv[1] : "";
  char* end = NULL;
  const long count = argc > 2 ? strtol(argv[2], &end, 10) : 1;
  const bool good = count >= 1 && count <= 1000000 && (argc <= 2 || *end == '\0');
  if (good && strcmp(kind, "hands") == 0) {
    hands();
  } else if (good && argc == 3 && strncmp(kind, "clutter", 7) == 0) {
    clutter((int)count, strcmp(kind, "clutter") == 0);
  } else if (good && argc == 3 && strcmp(kind, "field") == 0) {
    field((int)count);
  } else if (good && argc == 3 && strcmp(kind, "tower") == 0) {
    tower((int)count);
  } else if (good && argc == 3 && strcmp(kind, "chain") == 0) {
    chain((int)count);
  } else if (good && argc == 3 && strcmp(kind, "chain-urdf") == 0) {
    chain_urdf((int)count);
  } else if (good && argc == 3 && (strcmp(kind, "heap") == 0 || strcmp(kind, "tray") == 0)) {
    heap((int)count, strcmp(kind, "tray") == 0);
  } else if (good && argc == 3 && (strcmp(kind, "wall") == 0 || strcmp(kind, "stack") == 0)) {
    lattice((int)count, strcmp(kind, "wall") == 0);
  } else if (good && argc == 3 && strcmp(kind, "pyramid") == 0) {
    pyramid((int)count);
  } else if (good && argc == 3 && strcmp(kind, "net") == 0) {
    net((int)count);
  } else if (good && argc == 4 && strcmp(kind, "humanoids") == 0) {
    humanoids((int)count, argv[3]);
  } else {
    (void)fprintf(
        stderr,
        "usage: make_scene clutter|clutter-open|field|tower|chain|chain-urdf|heap|tray|wall|"
        "stack|net|pyramid N, hands, or humanoids N HUMANOID.xml\n");
    return 2;
  }
  return 0;
}
