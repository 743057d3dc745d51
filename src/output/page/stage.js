// SPDX-License-Identifier: BSD-3-Clause
// Camera, light, ground and horizon. z is up.
'use strict';

sapstep.sky = {light: [0xe9eef3, 0xf4f6f8], dark: [0x262d37, 0x414b58]};  // horizon, floor

sapstep.Stage = class {
  constructor(canvas, data, bodies) {
    this.data = data;
    this.renderer = new THREE.WebGLRenderer({canvas, antialias: true});
    if (!('outputColorSpace' in this.renderer)) {  // else sRGB
      Object.assign(this.renderer, {gammaOutput: true, gammaFactor: 2.2, outputEncoding: THREE.sRGBEncoding});
    }
    this.renderer.shadowMap.enabled = true;
    this.renderer.shadowMap.type = THREE.PCFSoftShadowMap;
    this.scene = new THREE.Scene();
    this.scene.add(bodies.group);
    this.front = new THREE.Scene();  // drawn over the rest
    const moving = bodies.bounds(true);
    const all = bodies.bounds(false);
    this.box = moving.isEmpty() ? all : moving;
    if (this.box.isEmpty()) {
      this.box.set(new THREE.Vector3(-1, -1, -1), new THREE.Vector3(1, 1, 1));
    }
    this.center = this.box.getCenter(new THREE.Vector3());
    this.radius = 0.5 * this.box.getSize(new THREE.Vector3()).length();
    this.camera = new THREE.PerspectiveCamera(40, 1, 0.005 * this.radius, 400 * this.radius);
    this.camera.up.set(0, 0, 1);
    this.controls = new THREE.OrbitControls(this.camera, canvas);
    this.controls.enableDamping = false;
    this.controls.enableKeys = false;
    this.controls.screenSpacePanning = true;
    this.controls.maxDistance = 60 * this.radius;
    this.addLight();
    this.addGround();
    this.paint();
    window.matchMedia('(prefers-color-scheme: dark)').addListener(() => this.paint());
    this.look('corner');
  }

  addLight() {
    const unit = Number(THREE.REVISION) < 155 ? 1 : Math.PI;  // of intensities
    this.scene.add(new THREE.HemisphereLight(0xffffff, 0x9a9288, 0.8 * unit));
    this.sun = new THREE.DirectionalLight(0xfff6ea, 0.85 * unit);
    this.sun.castShadow = true;
    this.sun.shadow.mapSize.set(2048, 2048);
    this.sun.shadow.radius = 2.5;
    this.sun.shadow.bias = -0.0004;
    const eye = this.sun.shadow.camera;
    const r = Math.min(1.3 * this.radius, 60);
    eye.left = eye.bottom = -r;
    eye.right = eye.top = r;
    eye.near = 0.01 * r;
    eye.far = 8 * r;
    this.sunAway = new THREE.Vector3(1.0, -0.7, 2.1).normalize().multiplyScalar(4 * r);
    const fill = new THREE.DirectionalLight(0xdfe9ff, 0.22 * unit);
    fill.position.set(-2, 3, 1);
    this.scene.add(this.sun, this.sun.target, fill);
    const sun = new THREE.DirectionalLight(0xffffff, 0.5 * unit);
    sun.position.copy(this.sunAway);
    this.front.add(new THREE.HemisphereLight(0xffffff, 0xc8c8c8, 1.1 * unit), sun);
    this.light(this.center);
  }

  // Moves light and shadows to the target of the camera.
  light(target) {
    this.sun.target.position.copy(target);
    this.sun.position.copy(target).add(this.sunAway);
  }

  // Adds the ground with squares of 0.1, 1, 10 m ..., by the size of the scene.
  addGround() {
    this.cell = Math.pow(10, Math.round(Math.log10(this.radius)));
    this.ground = new THREE.Group();
    const planes = this.data.header.shapes.filter((s) => s.type === sapstep.PLANE);
    const far = 80 * this.radius;
    planes.forEach((s) => {
      const position = new THREE.Vector3();
      const quaternion = new THREE.Quaternion();
      this.data.poses.at(s.body, 0, 0, position, quaternion);
      position.add(new THREE.Vector3(...s.p).applyQuaternion(quaternion));
      quaternion.multiply(new THREE.Quaternion(s.q[1], s.q[2], s.q[3], s.q[0]));
      const plane = new THREE.Mesh(sapstep.geometry('Plane', 2 * far, 2 * far),
                                   new THREE.MeshStandardMaterial({roughness: 0.95, metalness: 0.5}));
      plane.material.onBeforeCompile = (shader) => this.grid(shader);
      plane.quaternion.copy(quaternion);
      const normal = new THREE.Vector3(0, 0, 1).applyQuaternion(quaternion);
      // centred under the scene, wherever the plane has its origin
      plane.position.copy(this.center).addScaledVector(
          normal, -normal.dot(this.center.clone().sub(position)));
      plane.receiveShadow = true;
      this.ground.add(plane);
    });
    this.hasFloor = planes.length > 0;
    if (!this.hasFloor) {
      const grid = new THREE.GridHelper(20 * this.cell, 40, 0x8a94a0, 0xb4bcc5);
      grid.rotation.x = Math.PI / 2;
      grid.position.set(this.center.x, this.center.y, this.box.min.z);
      grid.material.transparent = true;
      grid.material.opacity = 0.5;
      this.ground.add(grid);
    }
    this.scene.add(this.ground);
  }

  // Draws two grids in world coordinates, which fade out before they flicker.
  grid(shader) {
    shader.uniforms.cell = {value: this.cell};
    shader.vertexShader = 'varying vec3 ground;\n' + shader.vertexShader.replace(
        '#include <project_vertex>',
        '#include <project_vertex>\nground = (modelMatrix * vec4(transformed, 1.0)).xyz;');
    shader.fragmentShader = `varying vec3 ground;
      uniform float cell;
      float lines(float size) {
        vec2 at = ground.xy / size;
        vec2 w = fwidth(at);
        vec2 near = abs(fract(at - 0.5) - 0.5) / max(w, 1e-6);
        return (1.0 - min(min(near.x, near.y), 1.0)) * (1.0 - smoothstep(0.1, 0.45, max(w.x, w.y)));
      }
    ` + shader.fragmentShader.replace('#include <color_fragment>', `#include <color_fragment>
      diffuseColor.rgb *= 1.0 - 0.20 * lines(cell) - 0.09 * lines(0.1 * cell);`);
  }

  paint() {
    const dark = window.matchMedia('(prefers-color-scheme: dark)').matches;
    const [fog, floor] = sapstep.sky[dark ? 'dark' : 'light'];
    const horizon = sapstep.color(fog);
    this.scene.background = horizon;
    this.scene.fog = new THREE.Fog(horizon, 12 * this.radius, 60 * this.radius);
    this.ground.children.forEach((m) => {
      if (this.hasFloor) {
        m.material.color = sapstep.color(floor);
      }
    });
  }

  // Looks from the corner, front, side or top.
  look(name) {
    const ways = {corner: [1.15, -1.5, 0.75], front: [1, 0, 0.05], side: [0, -1, 0.05],
                  top: [0, -0.001, 1]};
    const aspect = Math.min(1, this.free || 1);
    const distance = (1.05 * this.radius) /
                     Math.sin((0.5 * this.camera.fov * Math.PI) / 180) / aspect;
    const target = this.followed || this.center;
    this.controls.target.copy(target);
    this.camera.position.copy(target).addScaledVector(
        new THREE.Vector3(...ways[name]).normalize(), distance);
    this.controls.update();
  }

  // Moves the camera along with a body.
  follow(position) {
    const shift = position.clone().sub(this.controls.target);
    this.controls.target.copy(position);
    this.camera.position.add(shift);
    this.followed = position.clone();
    this.light(position);
  }

  release() {
    this.followed = null;
    this.light(this.center);
  }

  // Draws without shadows and with fewer pixels, for slow machines.
  simplify() {
    this.sun.castShadow = false;
    this.finest = 0.75;
  }

  // Centres the picture in the area that the panel leaves free.
  resize(right, bottom) {
    const canvas = this.renderer.domElement;
    const w = Math.max(1, canvas.parentElement.clientWidth);
    const h = Math.max(1, canvas.parentElement.clientHeight);
    this.renderer.setPixelRatio(Math.min(window.devicePixelRatio || 1, this.finest || 2));
    this.renderer.setSize(w, h);
    this.free = (w - right) / (h - bottom);
    this.camera.aspect = w / h;
    this.camera.setViewOffset(w, h, 0.5 * right, 0.5 * bottom, w, h);
  }

  render() {
    this.controls.update();
    this.renderer.autoClear = true;
    this.renderer.render(this.scene, this.camera);
    this.renderer.autoClear = false;
    this.renderer.clearDepth();
    this.renderer.render(this.front, this.camera);
  }
};
