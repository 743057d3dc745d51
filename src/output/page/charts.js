// SPDX-License-Identifier: BSD-3-Clause
// Charts over time with a cursor; dragging on a chart seeks.
'use strict';

sapstep.chartColors = ['#0072b2', '#d55e00', '#009e73', '#cc79a7', '#e69f00', '#56b4e9'];

// Returns a number as text with 3 digits.
sapstep.short = function (x) {
  const a = Math.abs(x);
  if (!Number.isFinite(x)) {
    return '–';
  }
  if (a < 1e-12) {
    return '0';  // round-off
  }
  return a !== 0 && (a < 1e-3 || a >= 1e5) ? x.toExponential(1).replace('e+', 'e')
                                           : String(Number(x.toPrecision(3)));
};

// Returns a vector as text, its components rounded to 3 digits of the largest and to `unit`.
sapstep.vector = function (x, unit = 0) {
  const most = Math.max(...x.map(Math.abs));
  const digits = most > 0 ? 2 - Math.floor(Math.log10(most)) : 0;
  const places = Math.min(unit > 0 ? Math.round(-Math.log10(unit)) : 12, Math.max(0, digits));
  return x.map((c) => String(Number(c.toFixed(places)))).join(', ');
};

sapstep.Chart = class {
  constructor(parent, title, series, time, seek) {
    this.series = series;
    this.time = time;
    const box = document.createElement('section');
    box.className = 'chart';
    box.innerHTML = '<h2></h2><canvas></canvas>';
    box.querySelector('h2').textContent = title;
    this.keys = series.map((s, k) => {
      const key = document.createElement('span');
      key.className = 'key';
      key.style.setProperty('--key', sapstep.chartColors[k]);
      box.querySelector('h2').append(key);
      return key;
    });
    parent.append(box);
    this.canvas = box.querySelector('canvas');
    const move = (event) => {
      const r = this.canvas.getBoundingClientRect();
      seek(time[0] + Math.min(1, Math.max(0, (event.clientX - r.left) / r.width)) *
                         (time[time.length - 1] - time[0]));
    };
    this.canvas.addEventListener('pointerdown', (event) => {
      this.canvas.setPointerCapture(event.pointerId);
      move(event);
    });
    this.canvas.addEventListener('pointermove', (event) => event.buttons > 0 && move(event));
    new ResizeObserver(() => this.draw()).observe(this.canvas);
  }

  range() {
    let low = Infinity;
    let high = -Infinity;
    this.series.forEach((s) => s.values.forEach((x) => {
      if (Number.isFinite(x)) {
        low = Math.min(low, x);
        high = Math.max(high, x);
      }
    }));
    if (!(low <= high)) {
      return [0, 1];
    }
    low = Math.min(low, 0);
    return high > low ? [low, high] : [low, low + 1];
  }

  // Draws the lines into an image; the cursor is drawn over a copy of it.
  draw() {
    const ratio = Math.min(window.devicePixelRatio || 1, 2);
    const w = Math.round(this.canvas.clientWidth * ratio);
    const h = Math.round(this.canvas.clientHeight * ratio);
    if (w === 0 || h === 0) {
      return;
    }
    this.canvas.width = w;
    this.canvas.height = h;
    this.still = document.createElement('canvas');
    this.still.width = w;
    this.still.height = h;
    const g = this.still.getContext('2d');
    const [low, high] = this.range();
    const t0 = this.time[0];
    const span = this.time[this.time.length - 1] - t0 || 1;
    const y = (v) => h - 3 * ratio - ((v - low) / (high - low)) * (h - 6 * ratio);
    g.strokeStyle = 'rgba(120,130,145,0.35)';
    g.beginPath();
    g.moveTo(0, y(0));
    g.lineTo(w, y(0));
    g.stroke();
    this.series.forEach((s, k) => {
      g.strokeStyle = sapstep.chartColors[k];
      g.lineWidth = 1.4 * ratio;
      g.lineJoin = 'round';
      g.beginPath();
      s.values.forEach((v, i) => {
        const x = ((this.time[i] - t0) / span) * w;
        if (Number.isFinite(v)) {
          g.lineTo(x, y(v));
        }
      });
      g.stroke();
    });
    (this.strip || []).forEach((color, i) => {  // along the bottom
      g.fillStyle = color;
      g.fillRect(((this.time[i] - t0) / span) * w, h - 4 * ratio, w / this.time.length + 1, 4 * ratio);
    });
    g.fillStyle = getComputedStyle(this.canvas).color;
    g.font = `${10 * ratio}px system-ui, sans-serif`;
    g.strokeStyle = 'rgba(255, 255, 255, 0.85)';  // a halo keeps it readable on a line
    g.lineWidth = 3 * ratio;
    g.strokeText(sapstep.short(high), 2 * ratio, 11 * ratio);
    g.fillText(sapstep.short(high), 2 * ratio, 11 * ratio);
    this.cursor(this.at || 0, this.frame || 0);
  }

  cursor(t, frame) {
    this.at = t;
    this.frame = frame;
    this.keys.forEach((key, k) => {
      const s = this.series[k];
      key.textContent = `${s.name} ${sapstep.short(s.values[frame])}${s.unit ? ' ' + s.unit : ''}`;
    });
    if (!this.still) {
      return;
    }
    const g = this.canvas.getContext('2d');
    const span = this.time[this.time.length - 1] - this.time[0] || 1;
    const x = Math.round(((t - this.time[0]) / span) * (this.canvas.width - 1)) + 0.5;
    g.clearRect(0, 0, this.canvas.width, this.canvas.height);
    g.drawImage(this.still, 0, 0);
    g.strokeStyle = getComputedStyle(this.canvas).color;
    g.beginPath();
    g.moveTo(x, 0);
    g.lineTo(x, this.canvas.height);
    g.stroke();
  }
};
