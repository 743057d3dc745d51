// SPDX-License-Identifier: BSD-3-Clause
// Draws contact points as discs and forces as arrows, coloured by mode or by penetration, and
// patches as ellipses of their area, coloured by their mean pressure.
'use strict';

sapstep.modeColors = [0x9aa5b1, 0x2f9e62, 0xe8590c];  // open, sticking, sliding

sapstep.Contacts = class {
  constructor(data, size) {
    this.data = data.contacts;
    this.slot = data.poses.slot;
    this.selected = -1;
    let most = 1;
    for (let f = 0; f < data.header.frames; ++f) {
      most = Math.max(most, this.data.first[f + 1] - this.data.first[f]);
    }
    this.size = size;  // radius of a disc [m]
    this.perNewton = size * 12 / Math.max(sapstep.typicalForce(this.data), 1e-12);
    this.deepest = Math.max(1e-9, sapstep.typicalDepth(this.data));
    this.group = new THREE.Group();
    const around = 0.6 * sapstep.cornersOf(most);
    this.patches = this.instances(sapstep.geometry('Cylinder', 1, 1, 1, 3 * around), most);
    this.patches.material.transparent = true;
    this.patches.material.opacity = 0.6;
    this.highest = sapstep.typicalPressure(this.data);  // 0: no patches
    this.discs = this.instances(sapstep.geometry('Cylinder', 1, 1, 0.12, around), most);
    this.shafts = this.instances(
        sapstep.geometry('Cylinder', 1, 1, 1, 0.7 * around, 1, true).translate(0, 0.5, 0), most);
    this.heads = this.instances(
        sapstep.geometry('Cone', 1, 1, 0.8 * around).translate(0, 0.5, 0), most);
    this.modes = sapstep.modeColors.map((c) => sapstep.color(c));
    this.up = new THREE.Vector3(0, 1, 0);
    this.matrix = new THREE.Matrix4();
    this.color = new THREE.Color();
    this.scale = 1;
    this.points = this.forces = true;
    this.byDepth = this.byDifference = false;
    this.reference = null;  // forces that another page shows at the same time
  }

  instances(geometry, most) {
    geometry.setAttribute(
        'color', new THREE.InstancedBufferAttribute(new Float32Array(3 * most), 3)
                     .setUsage(THREE.DynamicDrawUsage));
    const material =
        new THREE.MeshStandardMaterial({vertexColors: THREE.VertexColors || true, roughness: 0.5, metalness: 0.5});
    const mesh = new THREE.InstancedMesh(geometry, material, most);
    mesh.instanceMatrix.setUsage(THREE.DynamicDrawUsage);
    mesh.frustumCulled = false;
    this.group.add(mesh);
    return mesh;
  }

  set(mesh, i, position, quaternion, scale) {
    this.matrix.compose(position, quaternion, scale).toArray(mesh.instanceMatrix.array, 16 * i);
    this.color.toArray(mesh.geometry.attributes.color.array, 3 * i);
  }

  // Returns 1 if the force on B is drawn, -1 for that on A: the selected body, else the one that
  // moves, else the later one.
  side(i) {
    const [a, b] = [this.data.body[i], this.data.body[this.data.count + i]];
    if (a === this.selected || b === this.selected) {
      return b === this.selected ? 1 : -1;
    }
    const moves = [this.slot[a] >= 0, this.slot[b] >= 0];
    return moves[0] !== moves[1] ? (moves[1] ? 1 : -1) : b > a ? 1 : -1;
  }

  // Sets q and s to an ellipse of the area and the longer semi-axis 2 sqrt(second moment) of the patch whose
  // centre is contact i: its other points are at 1.06 roots of the moments.
  shapePatch(i, end, q, s) {
    const d = this.data;
    const at = (values, k) => new THREE.Vector3(values[k], values[d.count + k], values[2 * d.count + k]);
    const n = at(d.normal, i).normalize();
    const centre = at(d.point, i);
    const x = new THREE.Vector3(...(Math.abs(n.x) < 0.6 ? [1, 0, 0] : [0, 1, 0])).cross(n).normalize();
    const z = x.clone().cross(n);
    const S = [0, 0, 0];
    let count = 1e-12;
    for (let k = i + 1; k < end && k < i + 5 && d.patch[k] === 0 && d.body[k] === d.body[i]; ++k) {
      const away = at(d.point, k).sub(centre);
      const [u, w] = [away.dot(x), away.dot(z)];
      S[0] += u * u;
      S[1] += u * w;
      S[2] += w * w;
      ++count;
    }
    const turn = 0.5 * Math.atan2(2 * S[1], S[0] - S[2]);
    const largest = 0.5 * (S[0] + S[2]) + Math.hypot(0.5 * (S[0] - S[2]), S[1]);
    const long = Math.max(1, 2 * Math.sqrt(largest / count) / 1.06 / d.patch[i]);
    const major = x.clone().multiplyScalar(Math.cos(turn)).addScaledVector(z, Math.sin(turn));
    q.setFromRotationMatrix(new THREE.Matrix4().makeBasis(major, n, major.clone().cross(n)));
    s.set(d.patch[i] * long, 0.06 * this.size, d.patch[i] / long);
  }

  place(frame) {
    const d = this.data;
    const n = d.count;
    const p = new THREE.Vector3();
    const direction = new THREE.Vector3();
    const q = new THREE.Quaternion();
    const s = new THREE.Vector3();
    let discs = 0;
    let arrows = 0;
    let patches = 0;
    for (let i = d.first[frame]; i < d.first[frame + 1]; ++i) {
      p.set(d.point[i], d.point[n + i], d.point[2 * n + i]);
      if (this.points && d.patch[i] > 0) {
        sapstep.heat(d.patch[n + i] / this.highest, this.color);
        this.shapePatch(i, d.first[frame + 1], q, s);
        this.set(this.patches, patches++, p, q, s);
      }
      this.color.copy(this.modes[d.mode[i]]);
      if (this.byDepth) {
        sapstep.heat(Math.max(0, -d.depth[i]) / this.deepest, this.color);
      } else if (this.byDifference && this.reference) {
        sapstep.heat(this.difference(i) / this.reference.scale, this.color);
      }
      if (this.points) {
        direction.set(d.normal[i], d.normal[n + i], d.normal[2 * n + i]).normalize();
        q.setFromUnitVectors(this.up, direction);
        this.set(this.discs, discs++, p, q, s.set(this.size, this.size, this.size));
      }
      direction.set(d.force[i], d.force[n + i], d.force[2 * n + i]).multiplyScalar(this.side(i));
      const force = direction.length();
      if (this.forces && force > 0) {
        const length = Math.min(force * this.perNewton, 60 * this.size) * this.scale;
        const head = Math.min(0.35 * length, 2.6 * this.size);
        q.setFromUnitVectors(this.up, direction.multiplyScalar(1 / force));
        this.set(this.shafts, arrows, p, q,
                 s.set(0.3 * this.size, length - head, 0.3 * this.size));
        p.addScaledVector(direction, length - head);
        const wide = Math.min(0.8 * this.size, 0.5 * head);
        this.set(this.heads, arrows++, p, q, s.set(wide, head, wide));
      }
    }
    this.finish(this.patches, patches);
    this.finish(this.discs, discs);
    this.finish(this.shafts, arrows);
    this.finish(this.heads, arrows);
  }

  finish(mesh, count) {
    mesh.count = count;
    mesh.visible = count > 0;
    mesh.instanceMatrix.needsUpdate = true;
    mesh.geometry.attributes.color.needsUpdate = true;
  }

  // Returns the contact of a frame that is nearest to a ray, within twice a disc's radius; -1: none.
  pick(ray, frame) {
    const d = this.data;
    const p = new THREE.Vector3();
    let best = -1;
    let least = 2 * this.size;
    for (let i = d.first[frame]; i < d.first[frame + 1] && this.points; ++i) {
      p.set(d.point[i], d.point[d.count + i], d.point[2 * d.count + i]);
      const distance = ray.distanceToPoint(p);
      if (distance < least) {
        [best, least] = [i, distance];
      }
    }
    return best;
  }

  // Returns the contacts that continue contact i in the frames before and after: of the same bodies,
  // nearest to where it was. One per frame, -1: none.
  track(i, frames) {
    const d = this.data;
    const found = new Int32Array(frames).fill(-1);
    let at = 0;
    while (d.first[at + 1] <= i) {
      ++at;
    }
    const nearest = (last, f) => {
      let best = -1;
      let least = Infinity;
      for (let k = d.first[f]; k < d.first[f + 1]; ++k) {
        if (d.body[k] === d.body[i] && d.body[d.count + k] === d.body[d.count + i]) {
          const away = Math.hypot(d.point[k] - d.point[last], d.point[d.count + k] - d.point[d.count + last],
                                  d.point[2 * d.count + k] - d.point[2 * d.count + last]);
          if (away < least) {
            [best, least] = [k, away];
          }
        }
      }
      return best;
    };
    [1, -1].forEach((way) => {
      for (let f = at, last = i; f >= 0 && f < frames; f += way) {
        const k = f === at ? i : nearest(last, f);
        found[f] = k;
        last = k >= 0 ? k : last;
      }
    });
    return found;
  }

  // Returns bodies, points and forces of a frame, which other pages compare theirs with.
  forcesAt(frame) {
    const d = this.data;
    const rows = [];
    for (let i = d.first[frame]; i < d.first[frame + 1]; ++i) {
      const of = (values) => [values[i], values[d.count + i], values[2 * d.count + i]];
      rows.push({pair: `${d.body[i]} ${d.body[d.count + i]}`, point: of(d.point), force: of(d.force)});
    }
    return {rows, scale: 2 * sapstep.typicalForce(d)};
  }

  // Takes the forces of another page as reference.
  compare(forces) {
    const pairs = new Map();
    forces.rows.forEach((row) => pairs.set(row.pair, [...(pairs.get(row.pair) || []), row]));
    this.reference = {pairs, scale: forces.scale};
  }

  // Returns |F - F of the reference| [N] of contact i: there of the same bodies, nearest; 0 if none is.
  difference(i) {
    const d = this.data;
    const at = (values, k) => values[k * d.count + i];
    const away = (row) => Math.hypot(...row.point.map((x, k) => x - at(d.point, k)));
    const rows = this.reference.pairs.get(`${d.body[i]} ${d.body[d.count + i]}`) || [];
    const near = rows.reduce((best, row) => (best && away(best) <= away(row) ? best : row), null);
    return Math.hypot(...[0, 1, 2].map((k) => at(d.force, k) - (near ? near.force[k] : 0)));
  }

  // Returns the largest difference of a frame [N], with pairs of bodies that only the reference has.
  largestDifference(frame) {
    const d = this.data;
    const here = new Set();
    let largest = 0;
    for (let i = d.first[frame]; i < d.first[frame + 1]; ++i) {
      here.add(`${d.body[i]} ${d.body[d.count + i]}`);
      largest = Math.max(largest, this.difference(i));
    }
    this.reference.pairs.forEach((rows, pair) => rows.forEach((row) => {
      largest = here.has(pair) ? largest : Math.max(largest, Math.hypot(...row.force));
    }));
    return largest;
  }

  // Returns the normal and the tangential force [N] of contact i.
  split(i) {
    const d = this.data;
    const n = [0, 1, 2].map((k) => d.normal[k * d.count + i] / 127);
    const f = [0, 1, 2].map((k) => d.force[k * d.count + i]);
    const size = Math.hypot(...n) || 1;
    const normal = (n[0] * f[0] + n[1] * f[1] + n[2] * f[2]) / size;
    return [normal, Math.sqrt(Math.max(0, f[0] ** 2 + f[1] ** 2 + f[2] ** 2 - normal ** 2))];
  }

  // Returns the sum of the contact forces on a body, its number of contacts and largest slip speed.
  summary(body, frame) {
    const d = this.data;
    const out = {count: 0, force: [0, 0, 0], slip: 0};
    for (let i = d.first[frame]; i < d.first[frame + 1]; ++i) {
      const sign = d.body[d.count + i] === body ? 1 : d.body[i] === body ? -1 : 0;
      if (sign !== 0) {
        ++out.count;
        out.slip = d.mode[i] > 0 ? Math.max(out.slip, d.speed[i]) : out.slip;
        out.force = out.force.map((f, k) => f + sign * d.force[k * d.count + i]);
      }
    }
    return out;
  }
};

// Returns at most 20000 values of an array, evenly spaced.
sapstep.sample = function (array) {
  const step = Math.max(1, Math.floor(array.length / 20000));
  const out = [];
  for (let i = 0; i < array.length; i += step) {
    out.push(array[i]);
  }
  return out;
};

// Returns the depth that 2 % of the penetrating contacts exceed.
sapstep.typicalDepth = function (d) {
  const all = sapstep.sample(d.depth).filter((x) => x < 0).sort((a, b) => a - b);
  return all.length > 0 ? -all[Math.floor(0.02 * all.length)] : 0;
};

// Returns the pressure [kPa] that 5 % of the patches exceed.
sapstep.typicalPressure = function (d) {
  const all = sapstep.sample(d.patch.slice(d.count).filter((x) => x > 0)).sort((a, b) => b - a);
  return all.length > 0 ? all[Math.floor(0.05 * all.length)] : 0;
};

// Returns the median of all forces.
sapstep.typicalForce = function (d) {
  const step = Math.max(1, Math.floor(d.count / 20000));
  const all = [];
  for (let i = 0; i < d.count; i += step) {
    const f = Math.hypot(d.force[i], d.force[d.count + i], d.force[2 * d.count + i]);
    if (f > 0) {
      all.push(f);
    }
  }
  all.sort((a, b) => a - b);
  return all.length > 0 ? all[Math.floor(0.5 * (all.length - 1))] : 1;
};

// Viridis, which is perceptually uniform, at 0, 0.2, ... 1.
sapstep.viridis = [0x440154, 0x414487, 0x2a788e, 0x22a884, 0x7ad151, 0xfde725];

// Sets the colour for x in [0, 1].
sapstep.heat = function (x, color) {
  const at = 5 * Math.min(1, Math.max(0, x));
  const low = Math.min(4, Math.floor(at));
  color.copy(sapstep.color(sapstep.viridis[low])).lerp(sapstep.color(sapstep.viridis[low + 1]), at - low);
};
