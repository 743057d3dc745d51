// SPDX-License-Identifier: BSD-3-Clause
// Draws the bodies: shapes of equal form are instances of one mesh.
'use strict';

// three.js is Debian's r111 or a current one (cmake/page.cmake): names and colours of both.
sapstep.geometry = (name, ...sizes) =>
  new (THREE[`${name}BufferGeometry`] || THREE[`${name}Geometry`])(...sizes);

// Returns a colour of sRGB (0xrrggbb, or three values), linear. Later versions convert the first form.
sapstep.color = function (...rgb) {
  const color = new THREE.Color(...rgb);
  const done = rgb.length === 1 && THREE.ColorManagement && THREE.ColorManagement.enabled;
  return done ? color : color.convertSRGBToLinear();
};

// Shape types as in sap_shape_type: plane, sphere, capsule, cylinder, box, ellipsoid, mesh.
sapstep.PLANE = 0;
sapstep.MESH = 6;

// Colours for bodies without a colour; neighbours differ.
sapstep.palette = [0x4e79a7, 0xf28e2b, 0x59a14f, 0xe15759, 0x76b7b2, 0xedc948, 0xb07aa1, 0xff9da7,
                   0x9c755f, 0x6f8fbf];

// Returns the corners of round shapes, for about 1e5 triangles in a scene of many shapes.
sapstep.cornersOf = function (count) {
  return count > 300 ? 12 : count > 100 ? 16 : 28;
};

sapstep.capsuleGeometry = function (radius, half, around) {
  const points = [];
  const rings = Math.round(around / 4);
  for (let i = 0; i <= rings; ++i) {
    const a = (Math.PI / 2) * (i / rings - 1);
    points.push(new THREE.Vector2(radius * Math.cos(a), -half + radius * Math.sin(a)));
  }
  for (let i = 0; i <= rings; ++i) {
    const a = (Math.PI / 2) * (i / rings);
    points.push(new THREE.Vector2(radius * Math.cos(a), half + radius * Math.sin(a)));
  }
  return sapstep.geometry('Lathe', points, around).rotateX(Math.PI / 2);
};

sapstep.meshGeometry = function (data, mesh) {
  const [firstVertex, , firstTriangle, count] = data.header.meshes[mesh];
  const flat = new THREE.BufferGeometry();
  const positions = new Float32Array(9 * count);
  for (let i = 0; i < 3 * count; ++i) {
    const v = 3 * (firstVertex + data.triangles[3 * firstTriangle + i]);
    positions.set(data.vertices.subarray(v, v + 3), 3 * i);
  }
  flat.setAttribute('position', new THREE.BufferAttribute(positions, 3));
  flat.computeVertexNormals();
  return flat;
};

// Returns the form that many shapes share, and the scale of this one. Only spheres, cylinders and
// boxes keep correct normals when scaled by axis.
sapstep.formOf = function (data, shape) {
  const [a, b, c] = shape.size;
  const around = sapstep.cornersOf(data.header.shapes.length);
  switch (shape.type) {
    case 1:
      return {key: 'sphere', scale: [a, a, a],
              make: () => sapstep.geometry('Sphere', 1, around, 0.6 * around)};
    case 2:
      return {key: `capsule ${(b / a).toPrecision(4)}`, scale: [a, a, a],
              make: () => sapstep.capsuleGeometry(1, b / a, around)};
    case 3:
      return {key: 'cylinder', scale: [a, a, b],
              make: () => sapstep.geometry('Cylinder', 1, 1, 2, around).rotateX(Math.PI / 2)};
    case 4:
      return {key: 'box', scale: [a, b, c], make: () => sapstep.geometry('Box', 2, 2, 2)};
    case 5:
      return {key: `ellipsoid ${(b / a).toPrecision(4)} ${(c / a).toPrecision(4)}`,
              scale: [a, a, a],
              make: () => sapstep.geometry('Sphere', 1, around, 0.6 * around).scale(1, b / a, c / a)};
    default:
      return {key: `mesh ${shape.mesh}`, scale: [1, 1, 1],
              make: () => sapstep.meshGeometry(data, shape.mesh)};
  }
};

sapstep.colorOf = function (shape, movable, dressed) {
  if (shape.color) {
    return sapstep.color(shape.color[0], shape.color[1], shape.color[2]);
  }
  if (dressed) {  // a part of a robot with visual meshes: as MuJoCo's default
    return sapstep.color(0x808080);
  }
  const hex = movable ? sapstep.palette[shape.body % sapstep.palette.length] : 0xb9c0c8;
  return sapstep.color(hex);
};

sapstep.Bodies = class {
  constructor(data) {
    this.data = data;
    this.group = new THREE.Group();
    this.visuals = data.header.shapes.some((s) => !s.collides);
    this.dressed = new Set(data.header.shapes.filter((s) => !s.collides).map((s) => s.body));
    this.groups = this.sort().map((g) => this.build(g));
    this.position = new THREE.Vector3();
    this.quaternion = new THREE.Quaternion();
    this.matrix = new THREE.Matrix4();
    this.unit = new THREE.Vector3(1, 1, 1);
  }

  sort() {
    const groups = new Map();
    this.data.header.shapes.forEach((shape, id) => {
      if (shape.type === sapstep.PLANE) {
        return;
      }
      const form = sapstep.formOf(this.data, shape);
      const opacity = shape.color ? shape.color[3] : 1;
      if (opacity === 0) {
        return;
      }
      // Collision shapes are visual too on bodies without visual shapes.
      const looks = !shape.collides || !this.dressed.has(shape.body);
      const key = `${form.key}|${opacity}|${shape.collides}|${looks}`;
      if (!groups.has(key)) {
        groups.set(key, {form, opacity, looks, collides: shape.collides, shapes: []});
      }
      const local = new THREE.Matrix4().compose(
          new THREE.Vector3(...shape.p),
          new THREE.Quaternion(shape.q[1], shape.q[2], shape.q[3], shape.q[0]),
          new THREE.Vector3(...form.scale));
      groups.get(key).shapes.push({id, shape, local});
    });
    return [...groups.values()];
  }

  build(g) {
    const geometry = g.form.make();
    const colors = new Float32Array(3 * g.shapes.length);
    g.shapes.forEach(({shape}, i) => {
      const color = sapstep.colorOf(shape, this.data.poses.slot[shape.body] >= 0, this.visuals);
      color.toArray(colors, 3 * i);
    });
    geometry.setAttribute('color', new THREE.InstancedBufferAttribute(colors, 3));
    const material = new THREE.MeshStandardMaterial({
      vertexColors: THREE.VertexColors || true, roughness: 0.55, metalness: 0.05,
      transparent: g.opacity < 1, opacity: g.opacity,
    });
    g.colors = colors.slice();
    g.mesh = new THREE.InstancedMesh(geometry, material, g.shapes.length);
    g.mesh.instanceMatrix.setUsage(THREE.DynamicDrawUsage);
    g.mesh.castShadow = g.opacity > 0.5;
    g.mesh.receiveShadow = true;
    g.mesh.frustumCulled = false;
    this.group.add(g.mesh);
    return g;
  }

  // Chooses between collision and visual shapes, and between transparent and opaque.
  show(collision, xray) {
    this.groups.forEach((g) => {
      g.mesh.visible = this.visuals ? (collision ? g.collides : g.looks) : true;
      g.mesh.material.transparent = xray || g.opacity < 1;
      g.mesh.material.opacity = xray ? 0.3 * g.opacity : g.opacity;
      g.mesh.material.depthWrite = !xray;
    });
  }

  place(frame, part) {
    let body = -1;
    const pose = new THREE.Matrix4();
    this.groups.forEach((g) => {
      if (!g.mesh.visible) {
        return;
      }
      g.shapes.forEach(({shape, local}, i) => {
        if (shape.body !== body) {
          body = shape.body;
          this.data.poses.at(body, frame, part, this.position, this.quaternion);
          pose.compose(this.position, this.quaternion, this.unit);
        }
        this.matrix.multiplyMatrices(pose, local).toArray(g.mesh.instanceMatrix.array, 16 * i);
      });
      g.mesh.instanceMatrix.needsUpdate = true;
    });
  }

  // Lights up the shapes of two bodies, -1: none.
  highlight(selected, hovered) {
    const light = sapstep.color(0x5aa9e6);
    const color = new THREE.Color();
    this.groups.forEach((g) => {
      const array = g.mesh.geometry.attributes.color.array;
      g.shapes.forEach(({shape}, i) => {
        const share = shape.body === hovered ? 0.45 : shape.body === selected ? 0.3 : 0;
        color.fromArray(g.colors, 3 * i).lerp(light, shape.body > 0 ? share : 0).toArray(array, 3 * i);
      });
      g.mesh.geometry.attributes.color.needsUpdate = true;
    });
  }

  // Returns the middle of a body's shapes, in the body.
  middleOf(body) {
    const box = new THREE.Box3();
    this.groups.filter((g) => g.mesh.visible).forEach((g) => {
      g.shapes.filter(({shape}) => shape.body === body).forEach(({local}) => {
        const s = g.mesh.geometry.boundingSphere;
        const r = s.radius * local.getMaxScaleOnAxis();
        const middle = s.center.clone().applyMatrix4(local);
        box.expandByPoint(middle.clone().addScalar(r)).expandByPoint(middle.addScalar(-r));
      });
    });
    return box.isEmpty() ? new THREE.Vector3() : box.getCenter(new THREE.Vector3());
  }

  // Returns the body under a ray, -1: none.
  pick(raycaster) {
    const hits = [];
    this.groups.filter((g) => g.mesh.visible).forEach((g) => {
      g.mesh.boundingSphere = null;  // bodies have moved
      raycaster.intersectObject(g.mesh).forEach((h) => {
        hits.push({distance: h.distance, body: g.shapes[h.instanceId].shape.body});
      });
    });
    hits.sort((a, b) => a.distance - b.distance);
    return hits.length > 0 ? hits[0].body : -1;
  }

  // Returns a box around the shapes in a frame, without the outermost 3 % along each axis.
  boundsAt(frame, movingOnly) {
    const points = [[], [], []];
    const p = new THREE.Vector3();
    this.groups.forEach((g) => {
      g.mesh.geometry.computeBoundingSphere();
      const s = g.mesh.geometry.boundingSphere;
      g.shapes.forEach(({shape, local}) => {
        if (movingOnly && this.data.poses.slot[shape.body] < 0) {
          return;
        }
        this.data.poses.at(shape.body, frame, 0, this.position, this.quaternion);
        p.copy(s.center).applyMatrix4(local).applyQuaternion(this.quaternion).add(this.position);
        const r = s.radius * local.getMaxScaleOnAxis();
        p.toArray().forEach((x, k) => points[k].push(x - r, x + r));
      });
    });
    const box = new THREE.Box3();
    const n = points[0].length;
    if (n > 0) {
      const out = Math.floor(0.03 * n);
      points.forEach((x) => x.sort((a, b) => a - b));
      box.min.set(...points.map((x) => x[out]));
      box.max.set(...points.map((x) => x[n - 1 - out]));
    }
    return box;
  }

  // Returns a box around the whole run, or around its first frame if the run goes far.
  bounds(movingOnly) {
    const first = this.boundsAt(0, movingOnly);
    const all = first.clone();
    for (let k = 1; k < 8; ++k) {
      all.union(this.boundsAt(Math.floor((k * (this.data.poses.frames - 1)) / 7), movingOnly));
    }
    const length = (box) => box.getSize(new THREE.Vector3()).length();
    return first.isEmpty() || length(all) < 2.5 * length(first) ? all : first;
  }
};
