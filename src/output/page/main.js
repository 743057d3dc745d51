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
    this.selected = this.hovered = this.contact = -1;
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
    const list = this.$('bodies');
    this.names = header.bodies.map((name, id) => name || `body ${id}`);
    this.names.slice(1).forEach((name) => list.append(new Option(name, name)));
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
    this.$('body').addEventListener('input', (e) => this.search(e.target.value));
    this.$('link').addEventListener('click', () => this.copyLink());
    window.addEventListener('hashchange', () => this.readLink());
    window.addEventListener('message', (event) => this.hear(event.data));
    ['points', 'forces', 'depth', 'differ', 'xray', 'collision', 'ground', 'follow'].forEach(
        (id) => this.$(id).addEventListener('change', () => this.applyLooks()));
    this.$('scale').addEventListener('input', () => this.applyLooks());
    window.addEventListener('resize', () => this.resize());
    window.addEventListener('keydown', (event) => this.key(event));
    this.stage.controls.addEventListener('change', () => (this.dirty = true));
    const canvas = this.$('scene');
    canvas.addEventListener('pointermove', (e) => (this.pointer = e.buttons === 0 ? e : null));
    canvas.addEventListener('pointerleave', () => this.hover(-1));
    canvas.addEventListener('pointerdown', (e) => (this.press = [e.clientX, e.clientY]));
    canvas.addEventListener('pointerup', (e) => {
      if (this.press && Math.hypot(e.clientX - this.press[0], e.clientY - this.press[1]) < 5) {
        this.pick(e);
      }
    });
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.tagName === 'SELECT' ||
        event.target.type === 'search') {
      if (event.key === 'Escape' || event.key === 'Enter') {
        event.target.blur();
      }
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
      d: () => toggle('differ'),
      x: () => toggle('xray'),
      v: () => toggle('collision'),
      g: () => toggle('ground'),
      f: () => toggle('follow'),
      s: () => this.fold(),
      l: () => this.copyLink(),
      '/': () => this.$('body').focus(),
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
    this.selected = this.contacts.selected = body;
    this.contact = -1;
    if (document.activeElement !== this.$('body')) {
      this.$('body').value = body > 0 ? this.names[body] : '';
    }
    this.middle = body > 0 ? this.bodies.middleOf(body) : null;
    this.bodies.highlight(this.selected, this.hovered);
    this.applyLooks();
  }

  // Selects the body with this name, else the first that contains the text.
  search(text) {
    const wanted = text.trim().toLowerCase();
    const names = this.names.map((name) => name.toLowerCase());
    const at = names.indexOf(wanted);
    this.select(wanted === '' ? -1 : at > 0 ? at : names.findIndex((n, id) => id > 0 && n.includes(wanted)));
  }

  // Returns the ray through the pointer.
  rayOf(event) {
    const r = this.$('scene').getBoundingClientRect();
    const ray = new THREE.Raycaster();
    ray.setFromCamera(new THREE.Vector2(((event.clientX - r.left) / r.width) * 2 - 1,
                                        1 - ((event.clientY - r.top) / r.height) * 2),
                      this.stage.camera);
    return ray;
  }

  pick(event) {
    const ray = this.rayOf(event);
    const contact = this.contacts.pick(ray.ray, this.near);
    if (contact >= 0) {
      this.selectContact(contact);
    } else {
      this.select(this.bodies.pick(ray));
    }
  }

  // Follows a contact through all frames.
  selectContact(contact) {
    this.select(-1);
    this.contact = contact;
    this.track = this.contacts.track(contact, this.time.length);
    const value = (of) => Float32Array.from(this.track, (i) => (i >= 0 ? of(i) : 0));
    const forces = [0, 1].map((k) => value((i) => this.contacts.split(i)[k]));
    this.$('card').innerHTML = '<b></b><br><span></span><div></div>';
    const series = ['normal', 'tangential'].map((name, k) => ({name, unit: 'N', values: forces[k]}));
    this.contactChart = new sapstep.Chart(this.$('card').querySelector('div'), '', series, this.time,
                                          (t) => this.seek(t));
    this.contactChart.strip = Array.from(this.track, (i) => (i < 0 ? 'transparent' :
        `#${sapstep.modeColors[this.data.contacts.mode[i]].toString(16)}`));
    this.dirty = true;
  }

  hover(body, event) {
    const tip = this.$('hover');
    if (event) {
      tip.style.left = `${event.clientX + 14}px`;
      tip.style.top = `${event.clientY + 12}px`;
    }
    if (body !== this.hovered) {
      this.hovered = body;
      tip.hidden = body < 1;
      tip.textContent = body > 0 ? this.names[body] : '';
      this.bodies.highlight(this.selected, this.hovered);
      this.dirty = true;
    }
  }

  // Writes the time, the selected body and the view into the address.
  link() {
    const parts = [`t=${Number(this.t.toFixed(4))}`];
    if (this.selected > 0) {
      parts.push(`body=${encodeURIComponent(this.names[this.selected])}`);
    }
    const contact = this.contact >= 0 ? this.track[this.near] : -1;
    if (contact >= 0) {
      parts.push(`contact=${contact - this.data.contacts.first[this.near]}`);
    }
    return `${window.location.href.replace(/#.*/, '')}#${parts.join('&')}`;
  }

  copyLink() {
    try {
      window.history.replaceState(null, '', this.link());
    } catch (error) {
      // in a frame of another page
    }
    if (navigator.clipboard) {
      navigator.clipboard.writeText(this.link()).catch(() => {});
    }
  }

  // Goes to what the address names: #t=0.5&body=box&look=side&points=0&contact=2 (the third at that
  // time); #bare without the panels, #bare=film with title and time; #paused only pauses.
  readLink(link = window.location.hash) {
    const wanted = new URLSearchParams(link.slice(1));
    ['points', 'forces', 'depth', 'differ', 'xray', 'collision', 'ground', 'follow'].forEach((id) => {
      if (wanted.has(id)) {
        this.$(id).checked = wanted.get(id) !== '0';
      }
    });
    if (wanted.has('body')) {
      this.search(wanted.get('body'));
    }
    if (wanted.has('look')) {
      this.look(wanted.get('look'));
    }
    if (wanted.has('t')) {
      this.seek(Number(wanted.get('t')) || 0);
    }
    const {first} = this.data.contacts;
    const f = this.frame();
    const contact = first[f] + Number(wanted.get('contact'));
    if (wanted.has('contact') && contact >= first[f] && contact < first[f + 1]) {
      this.selectContact(contact);
    }
    if (wanted.has('bare')) {
      document.body.classList.add('bare', 'folded');
      document.body.classList.toggle('film', wanted.get('bare') === 'film');
      this.resize();
    }
    this.applyLooks();
    return wanted.has('t') || wanted.has('paused');
  }

  // Pages beside each other in one page tell each other time, view and selected body, the first one
  // its forces.
  tell() {
    const {camera, controls} = this.stage;
    const film = document.body.classList.contains('bare');  // which others set the time of
    if (this.leads && this.near !== this.led) {
      this.led = this.near;
      const forces = {...this.contacts.forcesAt(this.near), bodies: this.names.join(),
                      eye: camera.position.toArray(), target: controls.target.toArray()};
      window.parent.postMessage({sapstep: {forces}}, '*');
    }
    const told = {t: this.t, eye: camera.position.toArray(), target: controls.target.toArray(),
                  body: this.selected > 0 ? this.names[this.selected] : ''};
    if (window.parent !== window && !this.heard && !film) {
      window.parent.postMessage({sapstep: told}, '*');
    }
    this.heard = false;
  }

  hear(message) {
    const told = message && message.sapstep;
    if (told && typeof told.link === 'string') {
      this.leads = told.index === 0;
      this.led = -1;
      this.readLink(told.link);
    } else if (told && told.forces) {
      this.heard = true;
      this.learn(told.forces);
    } else if (told && Number.isFinite(told.t)) {
      this.heard = true;
      this.play(false);
      this.seek(told.t);
      if (told.eye) {
        this.stage.camera.position.fromArray(told.eye);
        this.stage.controls.target.fromArray(told.target);
      }
      const body = this.names.indexOf(told.body);
      if (told.body !== undefined && this.contact < 0 && body !== this.selected) {
        this.select(body);
      }
    }
  }

  // Takes the forces of the first page, if it shows the same bodies.
  learn(forces) {
    if (forces.bodies !== this.names.join()) {
      return;
    }
    const first = this.contacts.reference === null;
    this.contacts.compare(forces);
    this.dirty = true;
    if (document.body.classList.contains('bare')) {
      this.stage.camera.position.fromArray(forces.eye);
      this.stage.controls.target.fromArray(forces.target);
    }
    if (first) {
      this.$('differ-row').hidden = false;
      this.$('differ').checked = true;
      this.applyLooks();
    }
  }

  applyLooks() {
    const on = (id) => this.$(id).checked;
    this.contacts.points = on('points');
    this.contacts.forces = on('forces');
    this.contacts.byDepth = on('depth');
    this.contacts.byDifference = on('differ') && !on('depth');
    const differs = this.contacts.byDifference && this.contacts.reference !== null;
    this.$('differences').hidden = !differs;
    this.contacts.scale = Math.pow(10, Number(this.$('scale').value));
    this.bodies.show(on('collision'), on('xray'));
    this.stage.ground.visible = on('ground');
    this.$('legend').hidden = on('depth') || differs;
    this.$('depths').hidden = !on('depth');
    this.$('side').textContent = !on('forces') || this.data.contacts.count === 0 ? '' : this.selected > 0 ?
        `arrows: force on ${this.names[this.selected]}, elsewhere on the moving body` :
        'arrows: force on the moving body; if both move, on the one listed later';
    this.$('deepest').textContent = `${sapstep.short(1e3 * this.contacts.deepest)} mm`;
    this.$('pressures').hidden = !on('points') || !(this.contacts.highest > 0);
    this.$('highest').textContent = `${sapstep.short(this.contacts.highest)} kPa`;
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

  // Describes the selected contact.
  describeContact(frame) {
    const d = this.data.contacts;
    const i = this.track[frame];
    const names = [d.body[this.contact], d.body[d.count + this.contact]].map((b) => this.names[b]);
    const card = this.$('card');
    card.querySelector('b').textContent = `contact of ${names[0]} and ${names[1]}`;
    this.contactChart.cursor(this.t, frame);
    const series = this.data.header.series.find((s) => s.chart === 'Newton iterations');
    const step = ` · Newton iterations of the step: ${series ? series.values[frame] : 0}`;
    if (i < 0) {
      card.querySelector('span').textContent = `no contact at this time${step}`;
      return;
    }
    const [normal, tangential] = this.contacts.split(i);
    const pressure = d.patch[d.count + i];  // the penetration of a patch is not that of its law
    const ratio = d.depth[i] < 0 && normal > 0 && pressure === 0 ? ` · force/penetration ${sapstep.short(-normal / d.depth[i])} N/m` : '';
    const [asked, tau, mu, realised] = [0, 1, 2, 3].map((j) => d.law[j * d.count + i]);
    const k = asked < Infinity ? `k ${sapstep.short(asked)} N/m` : 'rigid';
    const law = (asked > 0 ? ` · ${k}${realised > 0 ? `, realised ${sapstep.short(100 * realised)} %` : ''}` +
        ` · relaxation time ${sapstep.short(tau)} s` : '') + ` · friction ${sapstep.short(mu)}`;
    const area = d.patch[i] > 0 ? ` of ${sapstep.short(1e4 * Math.PI * d.patch[i] ** 2)} cm²` : '';
    const patch = pressure > 0 ? ` · in a patch${area}, mean pressure ${sapstep.short(pressure)} kPa` : '';
    card.querySelector('span').textContent =
        `${['open', 'sticking', 'sliding'][d.mode[i]]} · penetration ${sapstep.short(-1e3 * d.depth[i])} mm` +
        ` · slip ${sapstep.short(1e3 * d.speed[i])} mm/s · tangential/normal ` +
        `${normal > 0 ? sapstep.short(tangential / normal) : '–'}${ratio}${law}${patch}${step}`;
  }

  describe(frame) {
    const card = this.$('card');
    card.hidden = this.selected < 1 && this.contact < 0;
    if (this.contact >= 0) {
      this.describeContact(frame);
    }
    if (this.selected < 1) {
      return;
    }
    const p = new THREE.Vector3();
    this.data.poses.at(this.selected, frame, 0, p, new THREE.Quaternion());
    const c = this.contacts.summary(this.selected, frame);
    card.innerHTML = '<b></b><br><span></span>';
    card.querySelector('b').textContent = this.names[this.selected];
    card.querySelector('span').textContent =
        `at ${sapstep.vector([p.x, p.y, p.z], 1e-4)} m · ${c.count} contact${c.count === 1 ? '' : 's'}` +
        (c.count > 0 ? ` · force ${sapstep.vector(c.force)} N · slip ${sapstep.short(1e3 * c.slip)} mm/s` : '');
  }

  draw() {
    const f = this.frame();
    const next = Math.min(f + 1, this.time.length - 1);
    const part = next > f ? (this.t - this.time[f]) / (this.time[next] - this.time[f]) : 0;
    this.bodies.place(f, part);
    const near = part > 0.5 ? next : f;
    this.near = near;
    this.contacts.place(near);
    if (this.following) {
      this.data.poses.at(this.selected, f, part, this.bodies.position, this.bodies.quaternion);
      this.stage.follow(this.bodies.position.add(
          this.middle.clone().applyQuaternion(this.bodies.quaternion)));
    }
    this.stage.render();
    this.charts.forEach((c) => c.cursor(this.t, near));
    if (!this.$('differences').hidden) {
      const {scale} = this.contacts.reference;
      this.$('largest').textContent =
          `${sapstep.short(scale)} N, largest now ${sapstep.short(this.contacts.largestDifference(near))} N`;
    }
    this.describe(near);
    this.$('scrub').value = this.t;
    this.$('clock').textContent = `${this.t.toFixed(3)} s`;
    this.tell();
    const film = document.body.classList.contains('film');
    this.$('frame').textContent = film ? `${this.t.toFixed(2)} s` : `frame ${near + 1} of ${this.time.length}`;
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
      const patient = document.body.classList.contains('bare');  // a film waits for every frame
      if (this.late === 6 && !patient) {  // drawn without a graphics processor, for example
        this.stage.simplify();
        this.resize();
      }
    }
    this.last = now;
    if (this.pointer && !this.playing) {
      this.hover(this.bodies.pick(this.rayOf(this.pointer)), this.pointer);
      this.pointer = null;
    }
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
    if (!sapstep.app.readLink() && window.parent === window) {
      sapstep.app.play(true);
    }
  } catch (error) {
    root.dataset.state = 'failed';
    document.getElementById('wait').textContent = `Cannot show this page: ${error.message}`;
    throw error;
  }
};

window.addEventListener('DOMContentLoaded', sapstep.begin);
