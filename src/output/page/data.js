// SPDX-License-Identifier: BSD-3-Clause
// Unpacks the recording in the page: a JSON header and one block of sections, deflated, as base64.
// A section holds 4-, 2- or 1-byte values as byte planes, the lowest bytes first.
'use strict';
const sapstep = {};

sapstep.readBlock = async function () {
  const text = atob(document.getElementById('block').textContent.trim());
  const packed = new Uint8Array(text.length);
  for (let i = 0; i < packed.length; ++i) {
    packed[i] = text.charCodeAt(i);
  }
  if (typeof DecompressionStream === 'undefined') {
    throw new Error('this browser cannot unpack the recording (no DecompressionStream); use a newer one');
  }
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream('deflate'));
  return new Uint8Array(await new Response(stream).arrayBuffer());
};

sapstep.Sections = class {
  constructor(header, block) {
    this.header = header;
    this.block = block;
  }

  bytes(name) {
    const [offset, count] = this.header.sections[name];
    return this.block.subarray(offset, offset + count);
  }

  // Returns values of `width` bytes as unsigned 32-bit integers, shifted up by `shift` bits.
  unplane(name, width, shift) {
    const bytes = this.bytes(name);
    const n = bytes.length / width;
    const out = new Uint32Array(n);
    for (let p = 0; p < width; ++p) {
      for (let i = 0, k = p * n; i < n; ++i, ++k) {
        out[i] |= bytes[k] << (8 * p + shift);
      }
    }
    return out;
  }

  floats(name) {
    return new Float32Array(this.unplane(name, 4, 0).buffer);
  }

  // Returns floats of which only the upper halves are stored.
  halves(name) {
    return new Float32Array(this.unplane(name, 2, 16).buffer);
  }

  // Returns integers; 0 -1 1 -2 2 ... are stored as 0 1 2 3 4 ...
  integers(name) {
    const out = this.unplane(name, 4, 0);
    for (let i = 0; i < out.length; ++i) {
      out[i] = (out[i] >>> 1) ^ -(out[i] & 1);
    }
    return new Int32Array(out.buffer);
  }
};

// Poses of all bodies in all frames. Moving bodies are stored as second differences in time.
sapstep.Poses = class {
  constructor(sections) {
    const header = sections.header;
    const moving = sections.integers('moving');
    const steps = sections.integers('pose');
    this.frames = header.frames;
    this.bodies = header.bodies.length;
    this.slot = new Int32Array(this.bodies).fill(-1);
    moving.forEach((body, k) => (this.slot[body] = k));
    this.rest = sections.floats('rest');
    this.values = new Float32Array(7 * moving.length * this.frames);
    for (let s = 0, at = 0; s < 7 * moving.length; ++s) {
      const unit = s % 7 < 3 ? header.lengthUnit : header.turnUnit;
      const to = 7 * Math.floor(s / 7) + (s % 7);
      let value = 0;
      let step = 0;
      for (let f = 0; f < this.frames; ++f, ++at) {
        step = f < 2 ? steps[at] : step + steps[at];
        value = f < 1 ? steps[at] : value + step;
        this.values[f * 7 * moving.length + to] = value * unit;
      }
    }
    this.stride = 7 * moving.length;
  }

  // Sets position and quaternion of a body between frame f and the next (part: 0 to 1).
  at(body, f, part, position, quaternion) {
    const slot = this.slot[body];
    const v = slot < 0 ? this.rest : this.values;
    const a = slot < 0 ? 7 * body : f * this.stride + 7 * slot;
    const b = slot < 0 || f + 1 >= this.frames ? a : a + this.stride;
    const w = b === a ? 0 : part;
    position.set(v[a] + w * (v[b] - v[a]), v[a + 1] + w * (v[b + 1] - v[a + 1]),
                 v[a + 2] + w * (v[b + 2] - v[a + 2]));
    quaternion.set(v[a + 4] + w * (v[b + 4] - v[a + 4]), v[a + 5] + w * (v[b + 5] - v[a + 5]),
                   v[a + 6] + w * (v[b + 6] - v[a + 6]), v[a + 3] + w * (v[b + 3] - v[a + 3]));
    quaternion.normalize();
  }
};

// Contacts of all frames, frame by frame; arrays of vectors are stored component by component.
sapstep.ContactData = class {
  constructor(sections) {
    const counts = sections.integers('contact_count');
    this.first = new Int32Array(counts.length + 1);
    counts.forEach((n, f) => (this.first[f + 1] = this.first[f] + n));
    this.count = this.first[counts.length];
    const unit = sections.header.lengthUnit;
    const point = sections.integers('contact_point');
    this.point = new Float32Array(point.length);
    for (let i = 0; i < point.length; ++i) {
      this.point[i] = point[i] * unit;
    }
    this.force = sections.halves('contact_force');
    this.depth = sections.halves('contact_depth');
    this.speed = sections.halves('contact_speed');
    this.normal = new Int8Array(sections.bytes('contact_normal').slice().buffer);
    this.mode = sections.bytes('contact_mode');
    this.body = sections.integers('contact_body');
    this.patch = sections.halves('contact_patch');  // radius [m] of its area, at its first point; mean pressure [kPa]
    this.law = sections.floats('contact_law');  // stiffness, relaxation time, friction, realised part
  }
};

// Chart, name and unit of the series; those that are always zero are not shown.
sapstep.SERIES = [
  ['Energy', 'kinetic', 'J'], ['Energy', 'gravity', 'J'], ['Energy', 'springs', 'J'],
  ['Energy', 'total', 'J'], ['Newton iterations', '', ''], ['Contacts', '', ''],
  ['Penetration', '', 'mm'], ['Contact slip', '', 'mm/s'], ['Step time', '', 'ms'],
];

// Returns the rows of a table with `width` columns.
sapstep.rows = function (values, width) {
  const count = width > 0 ? values.length / width : 0;
  return Array.from({length: count}, (_, i) => values.subarray(i * width, (i + 1) * width));
};

// Makes a shape of a row of the recording's /model/shape.
sapstep.shapeOf = function (row) {
  const part = (from, to) => Array.from(row.subarray(from, to), (x) => (isFinite(x) ? x : 0));
  const shape = {type: row[0], body: row[1], mesh: row[2], collides: row[3] > 0};
  Object.assign(shape, {size: part(4, 7), p: part(7, 10), q: part(10, 14)});
  return row.subarray(14, 18).every(isFinite) ? {...shape, color: part(14, 18)} : shape;
};

sapstep.load = async function () {
  const header = JSON.parse(document.getElementById('header').textContent);
  const sections = new sapstep.Sections(header, await sapstep.readBlock());
  const series = sections.floats('series');
  header.shapes = sapstep.rows(sections.floats('shape'), 18).map(sapstep.shapeOf);
  header.meshes = sapstep.rows(sections.integers('mesh'), 4);
  header.series = sapstep.rows(series, header.frames).map((values, k) => {
    const [chart, name, unit] = sapstep.SERIES[k];
    return {chart, name, unit, values, shown: values.some((v) => v !== 0)};
  });
  return {
    header,
    time: sections.floats('time'),
    poses: new sapstep.Poses(sections),
    contacts: new sapstep.ContactData(sections),
    vertices: sections.floats('vertex'),
    triangles: sections.integers('triangle'),
  };
};
