// Points in a room, turned by hand and seen from the front: three coordinates become two and a depth.

import { NUM_LEVELS } from "./ink.js";

export class Room {
  constructor(places) {
    const size = places.length / 3, middle = [0, 1, 2].map((axis) => mean(places, axis));
    this.places = places.map((value, at) => value - middle[at % 3]);
    this.radius = 1e-9;
    for (let point = 0; point < size; point += 1) {
      this.radius = Math.max(this.radius, Math.hypot(this.places[3 * point], this.places[3 * point + 1], this.places[3 * point + 2]));
    }
    this.flat = new Float32Array(2 * size);
    this.levels = new Uint8Array(size);
    this.reset();
  }

  // From a little above and beside, so that nobody takes a room for a plane.
  reset() {
    this.rotation = [1, 0, 0, 0, 1, 0, 0, 0, 1];
    this.turn(0.6, 0.4);
  }

  // Turn by angles around the upright axis and the level one, as the reader sees them now.
  turn(across, down) {
    const [c, s, d, t] = [Math.cos(across), Math.sin(across), Math.cos(down), Math.sin(down)];
    this.rotation = product([1, 0, 0, 0, d, -t, 0, t, d], product([c, 0, s, 0, 1, 0, -s, 0, c], this.rotation));
    this.project();
  }

  project() {
    const { places, flat, levels, radius, rotation: r } = this;
    for (let point = 0; point < levels.length; point += 1) {
      const x = places[3 * point], y = places[3 * point + 1], z = places[3 * point + 2];
      flat[2 * point] = r[0] * x + r[1] * y + r[2] * z;
      flat[2 * point + 1] = r[3] * x + r[4] * y + r[5] * z;
      const depth = (r[6] * x + r[7] * y + r[8] * z) / radius; // from -1, at the back, to 1
      levels[point] = Math.min(NUM_LEVELS - 1, Math.max(0, Math.floor(((depth + 0.6) / 1.2) * NUM_LEVELS)));
    }
  }
}

function mean(places, axis) {
  let total = 0;
  for (let at = axis; at < places.length; at += 3) total += places[at];
  return total / Math.max(1, places.length / 3);
}

function product(one, other) {
  return [0, 1, 2].flatMap((row) => [0, 1, 2].map((column) => [0, 1, 2].reduce((sum, at) => sum + one[3 * row + at] * other[3 * at + column], 0)));
}
