// Many points on one canvas: typed arrays, one pass per frame, on a plane or in a room that can be turned.

import { Grid } from "./grid.js";
import { discs, NUM_LEVELS, palette, Squares } from "./ink.js";
import { Room } from "./room.js";

export { Grid };

const ROUND = 6000; // points that are drawn one by one
const NUM_NAMED = 400; // points in view at most, for their names to be written beside them

export class Cloud {
  // `coordinates` have `width` numbers for each name, 2 or 3.
  // `ends` are words at its edges: left, right, below and above.
  constructor(canvas, { coordinates, width = 2, names, colours, isAmount = false, ends = [] }) {
    Object.assign(this, { canvas, names, colours, isAmount, ends });
    this.room = width === 3 ? new Room(coordinates) : null;
    this.coordinates = this.room ? this.room.flat : coordinates;
    this.levels = this.room?.levels;
    this.context = canvas.getContext("2d");
    this.squares = new Squares();
    this.shown = null; // a 1 for every point that is drawn; all of them without it
    this.count = names.length; // of points that are drawn
    this.hovered = -1;
    this.selected = -1;
    this.marked = [];
    this.isPending = false;
    this.fit();
  }

  // Made when it is asked for: while a room turns, nobody is looking for a point.
  get grid() {
    this.found ??= new Grid(this.coordinates, this.shown);
    return this.found;
  }

  // Show everything, with a margin.
  fit() {
    const { left, right, low, high } = this.grid;
    if (this.room && !this.shown) {
      this.whole = 1.8 * this.room.radius; // the same from every side
      this.view = { x: 0, y: 0, span: this.whole };
    } else {
      this.whole = 1.12 * Math.max(right - left, high - low, 1e-6);
      this.view = { x: (left + right) / 2, y: (low + high) / 2, span: this.whole };
    }
    this.redraw();
  }

  // Only these points, or all of them again.
  isolate(points) {
    this.shown = points && new Uint8Array(this.names.length);
    for (const point of points ?? []) this.shown[point] = 1;
    this.count = points ? points.length : this.names.length;
    this.found = null;
    this.fit();
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

  // Turn a room by so many pixels; the height of the canvas is half a turn.
  turn(dx, dy) {
    const angle = Math.PI / Math.max(1, this.canvas.clientHeight);
    this.room.turn(dx * angle, -dy * angle);
    this.found = null;
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

  recolour() {
    this.ink = null;
    this.redraw();
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
    this.ink ??= { ...palette({ hasColours: Boolean(this.colours), isAmount: this.isAmount }), font: `13px ${getComputedStyle(canvas).fontFamily}` };
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.clearRect(0, 0, width, height);
    const visible = this.paintPoints(width, height);
    this.paintMarks(visible, width, height);
  }

  // Few points are round, many are squares; of a room the back first. Returns the first points in view.
  paintPoints(width, height) {
    const { context, coordinates, colours, levels, shown, ink } = this, scale = this.pixels, size = coordinates.length / 2, visible = [];
    // Larger where there are few or where the reader is close.
    const side = Math.min(10, Math.max(2, 4.4 * Math.sqrt(1500 / this.count) * Math.sqrt(this.whole / this.view.span)));
    const x0 = width / 2 - this.view.x * scale, y0 = height / 2 + this.view.y * scale;
    const strength = this.marked.length || this.selected >= 0 ? 0.28 : 0.72;
    const pen = this.count > ROUND ? this.squares.begin(context, ink, strength, side) : discs(context, ink, strength, side);
    const last = ink.fills.length - 1;
    for (let level = levels ? 0 : NUM_LEVELS - 1; level < NUM_LEVELS; level += 1) {
      for (let point = 0; point < size; point += 1) {
        if ((levels && levels[point] !== level) || (shown && !shown[point])) continue;
        const x = x0 + coordinates[2 * point] * scale, y = y0 - coordinates[2 * point + 1] * scale;
        if (x < -side || y < -side || x > width + side || y > height + side) continue;
        pen.point(x, y, colours ? Math.min(colours[point], last) : 0, level);
        if (visible.length <= NUM_NAMED) visible.push(point);
      }
    }
    pen.done();
    return visible;
  }

  // The chosen point, its neighbours, the one under the pointer, and names where there is room for them.
  paintMarks(visible, width, height) {
    const { context, ink, shown } = this, taken = [];
    const drawn = (point) => point >= 0 && (!shown || shown[point]);
    context.font = ink.font;
    context.textBaseline = "middle";
    context.lineWidth = 3;
    context.lineJoin = "round";
    context.strokeStyle = ink["--paper"];
    if (this.room) this.paintAxes();
    if (this.ends.length) this.paintEnds(taken, width, height);
    const marked = this.marked.filter(drawn);
    for (const point of marked) this.dot(point, 4.5, "--series-2");
    if (drawn(this.selected)) this.dot(this.selected, 7, "--ink");
    if (drawn(this.hovered)) this.dot(this.hovered, 6, "--accent");
    for (const point of [this.hovered, this.selected, ...marked.slice(0, 150)].filter(drawn)) this.label(point, taken, true, width, height);
    if (visible.length <= NUM_NAMED) for (const point of visible.slice(0, 150)) this.label(point, taken, false, width, height);
  }

  // What lies towards each edge; names of points give way to it.
  paintEnds(taken, width, height) {
    const { context, ink } = this, most = width < 600 ? 18 : 36;
    const [left, right, below, above] = this.ends.map((name) => (name.length > most ? `${name.slice(0, most - 1)}…` : name));
    const write = (text, x, y, align) => {
      const wide = context.measureText(text).width, from = align === "left" ? x : align === "right" ? x - wide : x - wide / 2;
      taken.push([from - 2, y - 9, from + wide + 2, y + 9]);
      context.textAlign = align;
      context.strokeText(text, x, y);
      context.fillText(text, x, y);
    };
    context.save();
    context.fillStyle = ink["--muted"];
    write(`← ${left}`, 10, height - 34, "left");
    write(`${right} →`, width - 10, height - 34, "right");
    if (below) write(`↓ ${below}`, width / 2, height - 14, "center");
    if (above) write(`↑ ${above}`, width / 2, 14, "center");
    context.restore();
  }

  // Which way the three axes of a room point, from its middle.
  paintAxes() {
    const { context, ink, room, view } = this, scale = this.pixels, length = 0.5 * room.radius * scale;
    const x = this.canvas.clientWidth / 2 - view.x * scale, y = this.canvas.clientHeight / 2 + view.y * scale;
    context.save();
    context.lineWidth = 1;
    context.strokeStyle = context.fillStyle = ink["--muted"];
    ["across", "up", "deep"].forEach((name, axis) => {
      const [toX, toY] = [x + room.rotation[axis] * length, y - room.rotation[3 + axis] * length];
      context.beginPath();
      context.moveTo(x, y);
      context.lineTo(toX, toY);
      context.stroke();
      context.fillText(name, toX + 4, toY);
    });
    context.restore();
  }

  dot(point, radius, name) {
    const [x, y] = this.toScreen(point);
    this.context.fillStyle = this.ink[name];
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
    const isFirst = taken.length === (this.ends.length ? 2 + 2 * Boolean(this.ends[2]) : 0) && isFirm; // whatever else is dropped, what the reader points at is named
    if (!isFirst && taken.some((other) => box[0] < other[2] && box[2] > other[0] && box[1] < other[3] && box[3] > other[1])) return;
    taken.push(box);
    this.context.fillStyle = this.ink[isFirm ? "--ink" : "--muted"];
    this.context.strokeText(text, left, y);
    this.context.fillText(text, left, y);
  }
}
