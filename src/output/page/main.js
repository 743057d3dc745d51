// SPDX-License-Identifier: BSD-3-Clause
// The page: controls, keys, and the loop that plays the recording.
'use strict';

sapstep.speeds = [0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2, 5, 10];

sapstep.App = class {
  constructor(data) {
    this.data = data;
    this.time = data.time;
    this.end = this.time[this.time.length - 1];
    this.t = this.time[0];
    this.speed = 1;
    this.playing = false;
    this.selected = -1;
    this.following = false;
    this.$ = (id) => document.getElementById(id);
    this.bodies = new sapstep.Bodies(data);
    this.stage = new sapstep.Stage(this.$('scene'), data, this.bodies);
    this.contacts = new sapstep.Contacts(data, sapstep.discSize(data, this.stage.radius));
    this.stage.front.add(this.contacts.group);
    this.fillPage();
    this.bind();
    this.resize();
    this.stage.look('corner');
    this.applyLooks();
    this.frames = 0;
    requestAnimationFrame((now) => this.loop(now));
  }

  fillPage() {
    const header = this.data.header;
    document.title = header.title;
    this.$('title').textContent = header.title;
    this.$('note').textContent = header.note || '';
    const list = this.$('body');
    header.bodies.forEach((name, id) => {
      if (id > 0) {
        list.add(new Option(name || `body ${id}`, id));
      }
    });
    sapstep.speeds.forEach((s) => this.$('speed').add(new Option(`${s}×`, s, s === 1, s === 1)));
    this.$('collision-row').hidden = !this.bodies.visuals;
    const charts = new Map();
    header.series.filter((s) => s.shown).forEach((s) => {
      charts.set(s.chart, [...(charts.get(s.chart) || []), s]);
    });
    this.charts = [...charts].map(
        ([title, series]) => new sapstep.Chart(this.$('charts'), title, series, this.time,
                                               (t) => this.seek(t)));
    if (window.innerWidth < 720) {
      document.body.classList.add('folded');
    }
  }

  bind() {
    const bar = this.$('scrub');
    bar.min = this.time[0];
    bar.max = this.end;
    bar.step = 'any';
    bar.addEventListener('input', () => this.seek(Number(bar.value)));
    this.$('play').addEventListener('click', () => this.play(!this.playing));
    this.$('back').addEventListener('click', () => this.stepFrames(-1));
    this.$('next').addEventListener('click', () => this.stepFrames(1));
    this.$('speed').addEventListener('change', (e) => (this.speed = Number(e.target.value)));
    this.$('fold').addEventListener('click', () => this.fold());
    this.$('help').addEventListener('click', () => this.showHelp());
    this.$('keys').addEventListener('click', () => this.showHelp());
    this.$('body').addEventListener('change', (e) => this.select(Number(e.target.value)));
    ['points', 'forces', 'depth', 'xray', 'collision', 'ground', 'follow'].forEach(
        (id) => this.$(id).addEventListener('change', () => this.applyLooks()));
    this.$('scale').addEventListener('input', () => this.applyLooks());
    window.addEventListener('resize', () => this.resize());
    window.addEventListener('keydown', (event) => this.key(event));
    this.stage.controls.addEventListener('change', () => (this.dirty = true));
    const canvas = this.$('scene');
    canvas.addEventListener('pointerdown', (e) => (this.press = [e.clientX, e.clientY]));
    canvas.addEventListener('pointerup', (e) => {
      if (this.press && Math.hypot(e.clientX - this.press[0], e.clientY - this.press[1]) < 5) {
        this.pick(e);
      }
    });
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.tagName === 'SELECT') {
      return;
    }
    const toggle = (id) => {
      this.$(id).checked = !this.$(id).checked;
      this.applyLooks();
    };
    const far = event.shiftKey ? 10 : 1;
    const keys = {
      ' ': () => this.play(!this.playing),
      ArrowLeft: () => this.stepFrames(-far),
      ArrowRight: () => this.stepFrames(far),
      Home: () => this.seek(this.time[0]),
      End: () => this.seek(this.end),
      '-': () => this.changeSpeed(-1),
      '+': () => this.changeSpeed(1),
      '=': () => this.changeSpeed(1),
      c: () => toggle('points'),
      a: () => toggle('forces'),
      p: () => toggle('depth'),
      x: () => toggle('xray'),
      v: () => toggle('collision'),
      g: () => toggle('ground'),
      f: () => toggle('follow'),
      s: () => this.fold(),
      n: () => this.select((this.selected + 1) % this.data.header.bodies.length || 1),
      1: () => this.look('corner'),
      2: () => this.look('front'),
      3: () => this.look('side'),
      4: () => this.look('top'),
      '?': () => this.showHelp(),
      h: () => this.showHelp(),
      Escape: () => this.$('keys').hidden || this.showHelp(),
    };
    const act = keys[event.key] || keys[event.key.toLowerCase()];
    if (act) {
      event.preventDefault();
      act();
    }
  }

  look(name) {
    this.stage.look(name);
    this.dirty = true;
  }

  fold() {
    document.body.classList.toggle('folded');
    this.resize();
  }

  showHelp() {
    this.$('keys').hidden = !this.$('keys').hidden;
  }

  changeSpeed(by) {
    const at = sapstep.speeds.indexOf(this.speed) + by;
    this.speed = sapstep.speeds[Math.min(sapstep.speeds.length - 1, Math.max(0, at))];
    this.$('speed').value = this.speed;
  }

  play(yes) {
    if (yes && this.t >= this.end) {
      this.t = this.time[0];
    }
    this.playing = yes;
    document.body.classList.toggle('playing', yes);
    this.$('play').setAttribute('aria-label', yes ? 'pause' : 'play');
  }

  seek(t) {
    this.t = Math.min(this.end, Math.max(this.time[0], t));
    this.dirty = true;
  }

  stepFrames(by) {
    this.play(false);
    const f = Math.min(this.time.length - 1, Math.max(0, this.frame() + by));
    this.seek(this.time[f]);
  }

  // Returns the last frame that is not after t.
  frame() {
    let low = 0;
    let high = this.time.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.time[middle] <= this.t) {
        low = middle;
      } else {
        high = middle - 1;
      }
    }
    return low;
  }

  select(body) {
    this.selected = body;
    this.$('body').value = body;
    this.applyLooks();
  }

  pick(event) {
    const r = event.target.getBoundingClientRect();
    const ray = new THREE.Raycaster();
    ray.setFromCamera(new THREE.Vector2(((event.clientX - r.left) / r.width) * 2 - 1,
                                        1 - ((event.clientY - r.top) / r.height) * 2),
                      this.stage.camera);
    this.select(this.bodies.pick(ray));
  }

  applyLooks() {
    const on = (id) => this.$(id).checked;
    this.contacts.points = on('points');
    this.contacts.forces = on('forces');
    this.contacts.byDepth = on('depth');
    this.contacts.scale = Math.pow(10, Number(this.$('scale').value));
    this.bodies.show(on('collision'), on('xray'));
    this.stage.ground.visible = on('ground');
    this.$('legend').hidden = on('depth');
    this.$('depths').hidden = !on('depth');
    this.$('deepest').textContent = `${sapstep.short(1e3 * this.contacts.deepest)} mm`;
    this.following = on('follow') && this.selected > 0;
    if (!this.following) {
      this.stage.release();
    }
    this.dirty = true;
  }

  resize() {
    const panel = document.querySelector('aside');
    const beside = window.innerWidth >= 720;
    const open = !document.body.classList.contains('folded');
    this.stage.resize(open && beside ? panel.offsetWidth + 14 : 0,
                      62 + (open && !beside ? panel.offsetHeight : 0));
    this.dirty = true;
  }

  describe(frame) {
    const card = this.$('card');
    card.hidden = this.selected < 1;
    if (card.hidden) {
      return;
    }
    const p = new THREE.Vector3();
    this.data.poses.at(this.selected, frame, 0, p, new THREE.Quaternion());
    const c = this.contacts.summary(this.selected, frame);
    const vector = (x) => x.map(sapstep.short).join(', ');
    card.innerHTML = '<b></b><br><span></span>';
    card.querySelector('b').textContent =
        this.data.header.bodies[this.selected] || `body ${this.selected}`;
    card.querySelector('span').textContent =
        `at ${vector([p.x, p.y, p.z])} m · ${c.count} contacts` +
        (c.count > 0 ? ` · force ${vector(c.force)} N · slip ${sapstep.short(c.slip)} m/s` : '');
  }

  draw() {
    const f = this.frame();
    const next = Math.min(f + 1, this.time.length - 1);
    const part = next > f ? (this.t - this.time[f]) / (this.time[next] - this.time[f]) : 0;
    this.bodies.place(f, part);
    const near = part > 0.5 ? next : f;
    this.contacts.place(near);
    if (this.following) {
      this.data.poses.at(this.selected, f, part, this.bodies.position, this.bodies.quaternion);
      this.stage.follow(this.bodies.position);
    }
    this.stage.render();
    this.charts.forEach((c) => c.cursor(this.t, near));
    this.describe(near);
    this.$('scrub').value = this.t;
    this.$('clock').textContent = `${this.t.toFixed(3)} s`;
    this.$('frame').textContent = `frame ${near + 1} of ${this.time.length}`;
  }

  loop(now) {
    if (this.playing) {
      this.t += (this.speed * Math.min(100, now - (this.last || now))) / 1000;
      if (this.t >= this.end) {
        this.t = this.end;
        this.play(false);
      }
      this.dirty = true;
    }
    if (this.dirty && now - (this.last || now) > 120) {
      this.late = (this.late || 0) + 1;
      if (this.late === 6) {  // drawn without a graphics processor, for example
        this.stage.simplify();
        this.resize();
      }
    }
    this.last = now;
    if (this.dirty) {
      this.dirty = false;
      this.draw();
      ++this.frames;
    }
    requestAnimationFrame((then) => this.loop(then));
  }
};

// Returns the radius of contact discs, from the typical size of moving shapes.
sapstep.discSize = function (data, radius) {
  const sizes = data.header.shapes.filter((s) => s.collides && data.poses.slot[s.body] >= 0)
                    .map((s) => (s.type === sapstep.MESH ? 0.2 * radius : Math.max(...s.size)));
  sizes.sort((a, b) => a - b);
  const typical = sizes.length > 0 ? sizes[Math.floor(sizes.length / 2)] : radius;
  return Math.min(0.2 * typical, 0.012 * radius);
};

sapstep.begin = async function () {
  const root = document.documentElement;
  try {
    sapstep.app = new sapstep.App(await sapstep.load());
    root.dataset.state = 'ready';
    if (window.location.hash !== '#paused') {
      sapstep.app.play(true);
    }
  } catch (error) {
    root.dataset.state = 'failed';
    document.getElementById('wait').textContent = `Cannot show this page: ${error.message}`;
    throw error;
  }
};

window.addEventListener('DOMContentLoaded', sapstep.begin);
