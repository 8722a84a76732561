// Finds the point under a finger.

// Points sorted into cells by counting, so that hover looks at a few dozen of them instead of all.
export class Grid {
  // `shown`, where it is given, has a 0 for every point that is not to be found.
  constructor(coordinates, shown = null) {
    const size = coordinates.length / 2;
    this.coordinates = coordinates;
    this.side = Math.max(1, Math.ceil(Math.sqrt(size / 4)));
    let [left, right, low, high] = [Infinity, -Infinity, Infinity, -Infinity];
    for (let point = 0; point < size; point += 1) {
      if (shown && !shown[point]) continue;
      left = Math.min(left, coordinates[2 * point]);
      right = Math.max(right, coordinates[2 * point]);
      low = Math.min(low, coordinates[2 * point + 1]);
      high = Math.max(high, coordinates[2 * point + 1]);
    }
    Object.assign(this, { left, right, low, high });
    this.width = Math.max(right - left, 1e-9) / this.side;
    this.height = Math.max(high - low, 1e-9) / this.side;
    this.starts = new Uint32Array(this.side * this.side + 1);
    for (let point = 0; point < size; point += 1) if (!shown || shown[point]) this.starts[this.cellOf(point) + 1] += 1;
    for (let cell = 0; cell < this.side * this.side; cell += 1) this.starts[cell + 1] += this.starts[cell];
    const next = this.starts.slice();
    this.members = new Uint32Array(size);
    for (let point = 0; point < size; point += 1) if (!shown || shown[point]) this.members[next[this.cellOf(point)]++] = point;
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
