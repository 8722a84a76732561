// Many points on one canvas: typed arrays, one pass per frame, and a grid that finds the point under a finger.

import { colour } from "./dom.js";

const ROUND = 6000; // points that are drawn one by one

// A colour #rrggbb over another, as a pixel of an image: its bytes are red, green, blue, alpha.
function mixed(over, under, strength) {
  const part = (text, place) => parseInt(text.slice(1 + 2 * place, 3 + 2 * place), 16);
  const bytes = [0, 1, 2].map((place) => Math.round(strength * part(over, place) + (1 - strength) * part(under, place)));
  return new Uint32Array(Uint8Array.from([...bytes, 255]).buffer)[0];
}

// Points sorted into cells by counting, so that hover looks at a few dozen of them instead of all.
export class Grid {
  constructor(coordinates) {
    const size = coordinates.length / 2;
    this.coordinates = coordinates;
    this.side = Math.max(1, Math.ceil(Math.sqrt(size / 4)));
    let [left, right, low, high] = [Infinity, -Infinity, Infinity, -Infinity];
    for (let point = 0; point < size; point += 1) {
      left = Math.min(left, coordinates[2 * point]);
      right = Math.max(right, coordinates[2 * point]);
      low = Math.min(low, coordinates[2 * point + 1]);
      high = Math.max(high, coordinates[2 * point + 1]);
    }
    Object.assign(this, { left, right, low, high });
    this.width = Math.max(right - left, 1e-9) / this.side;
    this.height = Math.max(high - low, 1e-9) / this.side;
    this.starts = new Uint32Array(this.side * this.side + 1);
    for (let point = 0; point < size; point += 1) this.starts[this.cellOf(point) + 1] += 1;
    for (let cell = 0; cell < this.side * this.side; cell += 1) this.starts[cell + 1] += this.starts[cell];
    const next = this.starts.slice();
    this.members = new Uint32Array(size);
    for (let point = 0; point < size; point += 1) this.members[next[this.cellOf(point)]++] = point;
  }

  clamp(place) {
    return Math.min(this.side - 1, Math.max(0, Math.floor(place)));
  }

  cellOf(point) {
    const column = this.clamp((this.coordinates[2 * point] - this.left) / this.width);
    return column + this.side * this.clamp((this.coordinates[2 * point + 1] - this.low) / this.height);
  }

  // The point nearest to (x, y) within a radius, -1 where there is none.
  nearest(x, y, radius) {
    let best = -1, closest = radius * radius;
    const lastColumn = this.clamp((x + radius - this.left) / this.width), lastRow = this.clamp((y + radius - this.low) / this.height);
    for (let row = this.clamp((y - radius - this.low) / this.height); row <= lastRow; row += 1) {
      for (let column = this.clamp((x - radius - this.left) / this.width); column <= lastColumn; column += 1) {
        const cell = column + this.side * row;
        for (let place = this.starts[cell]; place < this.starts[cell + 1]; place += 1) {
          const point = this.members[place];
          const squared = (this.coordinates[2 * point] - x) ** 2 + (this.coordinates[2 * point + 1] - y) ** 2;
          if (squared < closest) [best, closest] = [point, squared];
        }
      }
    }
    return best;
  }
}

export class Cloud {
  constructor(canvas, { coordinates, names, colours }) {
    Object.assign(this, { canvas, coordinates, names, colours });
    this.grid = new Grid(coordinates);
    this.context = canvas.getContext("2d");
    this.hovered = -1;
    this.selected = -1;
    this.marked = [];
    this.isPending = false;
    this.fit();
  }

  // Show everything, with a margin.
  fit() {
    const { left, right, low, high } = this.grid;
    this.whole = 1.12 * Math.max(right - left, high - low, 1e-6);
    this.view = { x: (left + right) / 2, y: (low + high) / 2, span: this.whole };
    this.redraw();
  }

  get pixels() {
    return Math.min(this.canvas.clientWidth, this.canvas.clientHeight) / this.view.span;
  }

  toScreen(point) {
    const scale = this.pixels;
    return [
      this.canvas.clientWidth / 2 + (this.coordinates[2 * point] - this.view.x) * scale,
      this.canvas.clientHeight / 2 - (this.coordinates[2 * point + 1] - this.view.y) * scale,
    ];
  }

  pan(dx, dy) {
    this.view.x -= dx / this.pixels;
    this.view.y += dy / this.pixels;
    this.redraw();
  }

  // Zoom by a factor around a place of the canvas, which stays where it is.
  zoom(factor, px = this.canvas.clientWidth / 2, py = this.canvas.clientHeight / 2) {
    const before = this.pixels, dx = px - this.canvas.clientWidth / 2, dy = py - this.canvas.clientHeight / 2;
    this.view.span = Math.min(4 * this.whole, Math.max(this.whole / 2000, this.view.span / factor));
    this.view.x += dx / before - dx / this.pixels;
    this.view.y -= dy / before - dy / this.pixels;
    this.redraw();
  }

  centre(point, span) {
    this.view = { x: this.coordinates[2 * point], y: this.coordinates[2 * point + 1], span: span ?? this.view.span };
    this.redraw();
  }

  at(px, py, reach = 14) {
    const scale = this.pixels;
    const x = this.view.x + (px - this.canvas.clientWidth / 2) / scale, y = this.view.y - (py - this.canvas.clientHeight / 2) / scale;
    return this.grid.nearest(x, y, reach / scale);
  }

  redraw() {
    if (this.isPending) return;
    this.isPending = true;
    requestAnimationFrame(() => {
      this.isPending = false;
      this.paint();
    });
  }

  paint() {
    const { canvas, context } = this, ratio = devicePixelRatio || 1;
    const width = canvas.clientWidth, height = canvas.clientHeight;
    if (!width || !height) return;
    if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
    }
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    const visible = this.paintPoints(width, height);
    this.paintMarks(visible, width, height);
  }

  // Few points are round; of many, squares are written into an image, which is several times faster than drawing them.
  paintPoints(width, height) {
    const { context, coordinates, colours } = this, scale = this.pixels, size = coordinates.length / 2, visible = [];
    // Larger where there are few or where the reader is close.
    const side = Math.min(10, Math.max(2, 4.4 * Math.sqrt(1500 / size) * Math.sqrt(this.whole / this.view.span)));
    const x0 = width / 2 - this.view.x * scale, y0 = height / 2 + this.view.y * scale;
    const strength = this.marked.length || this.selected >= 0 ? 0.28 : 0.72;
    const names = colours ? ["--series-1", "--series-2", "--series-3", "--series-4", "--point-other"] : ["--series-1"];
    const mark = size > ROUND ? this.squares(names, strength, side) : this.discs(names, strength, side);
    const last = names.length - 1;
    for (let point = 0; point < size; point += 1) {
      const x = x0 + coordinates[2 * point] * scale, y = y0 - coordinates[2 * point + 1] * scale;
      if (x < -side || y < -side || x > width + side || y > height + side) continue;
      mark.point(x, y, colours ? Math.min(colours[point], last) : 0);
      visible.push(point);
    }
    mark.done();
    context.globalAlpha = 1;
    return visible;
  }

  discs(names, strength, side) {
    const { context } = this, fills = names.map(colour);
    context.globalAlpha = strength;
    const point = (x, y, which) => {
      context.fillStyle = fills[which];
      context.beginPath();
      context.arc(x, y, side / 2, 0, 2 * Math.PI);
      context.fill();
    };
    return { point, done: () => {} };
  }

  squares(names, strength, side) {
    const { canvas, context } = this, ratio = devicePixelRatio || 1, wide = canvas.width, high = canvas.height;
    const image = context.createImageData(wide, high), pixels = new Uint32Array(image.data.buffer), edge = Math.max(1, Math.round(side * ratio));
    const fills = names.map((name) => mixed(colour(name), colour("--paper"), strength));
    const point = (x, y, which) => {
      const left = Math.round(x * ratio - edge / 2), top = Math.round(y * ratio - edge / 2);
      for (let row = Math.max(0, top); row < Math.min(high, top + edge); row += 1) {
        for (let column = Math.max(0, left); column < Math.min(wide, left + edge); column += 1) pixels[row * wide + column] = fills[which];
      }
    };
    return { point, done: () => context.putImageData(image, 0, 0) };
  }

  // The chosen point, its neighbours, the one under the pointer, and names where there is room for them.
  paintMarks(visible, width, height) {
    const { context } = this, taken = [];
    context.font = `13px ${getComputedStyle(this.canvas).fontFamily}`;
    context.textBaseline = "middle";
    context.lineWidth = 3;
    context.lineJoin = "round";
    context.strokeStyle = colour("--paper");
    for (const point of this.marked) this.dot(point, 4.5, "--series-2");
    if (this.selected >= 0) this.dot(this.selected, 7, "--ink");
    if (this.hovered >= 0) this.dot(this.hovered, 6, "--accent");
    const firm = [this.hovered, this.selected, ...this.marked].filter((point) => point >= 0);
    for (const point of firm) this.label(point, taken, true, width, height);
    if (visible.length <= 400) for (const point of visible.slice(0, 150)) this.label(point, taken, false, width, height);
  }

  dot(point, radius, name) {
    const [x, y] = this.toScreen(point);
    this.context.fillStyle = colour(name);
    this.context.beginPath();
    this.context.arc(x, y, radius, 0, 2 * Math.PI);
    this.context.stroke();
    this.context.fill();
  }

  label(point, taken, isFirm, width, height) {
    const [x, y] = this.toScreen(point);
    if (x < 0 || y < 0 || x > width || y > height) return;
    const text = this.names[point].length > 36 ? `${this.names[point].slice(0, 35)}…` : this.names[point];
    const wide = this.context.measureText(text).width;
    const left = x + 10 + wide > width ? x - 10 - wide : x + 10;
    const box = [left - 2, y - 9, left + wide + 2, y + 9];
    const isFirst = taken.length === 0 && isFirm; // whatever else is dropped, what the reader points at is named
    if (!isFirst && taken.some((other) => box[0] < other[2] && box[2] > other[0] && box[1] < other[3] && box[3] > other[1])) return;
    taken.push(box);
    this.context.fillStyle = colour(isFirm ? "--ink" : "--muted");
    this.context.strokeText(text, left, y);
    this.context.fillText(text, left, y);
  }
}
