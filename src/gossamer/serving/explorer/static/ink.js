// How points get onto a canvas: the colours of the page, and two pens, one for few points and one for many.

import { colour } from "./dom.js";

const LEVELS = [0.45, 0.75, 1]; // of colour, from the back of a room to its front
export const NUM_LEVELS = LEVELS.length;
const KINDS = ["--series-1", "--series-2", "--series-3", "--series-4", "--point-other"];
const STEPS = ["--ramp-1", "--ramp-2", "--ramp-3", "--ramp-4", "--point-other"];
const MARKS = ["--paper", "--ink", "--muted", "--accent", "--series-2"];

// Read once per change of colours, not per point: every reading asks the whole style sheet.
export function palette({ hasColours, isAmount }) {
  const names = hasColours ? (isAmount ? STEPS : KINDS) : ["--series-1"];
  return { fills: names.map(colour), ...Object.fromEntries(MARKS.map((name) => [name, colour(name)])) };
}

// A colour #rrggbb over another, as a pixel of an image: its bytes are red, green, blue, alpha.
function mixed(over, under, strength) {
  const part = (text, place) => parseInt(text.slice(1 + 2 * place, 3 + 2 * place), 16);
  const bytes = [0, 1, 2].map((place) => Math.round(strength * part(over, place) + (1 - strength) * part(under, place)));
  return new Uint32Array(Uint8Array.from([...bytes, 255]).buffer)[0];
}

// Round points, drawn one by one.
export function discs(context, colours, strength, side) {
  const point = (x, y, which, level) => {
    context.globalAlpha = strength * LEVELS[level];
    context.fillStyle = colours.fills[which];
    context.beginPath();
    context.arc(x, y, side / 2, 0, 2 * Math.PI);
    context.fill();
  };
  return { point, done: () => { context.globalAlpha = 1; } };
}

// Squares written into an image, which for thousands is several times faster than drawing them. The image is kept from
// frame to frame: to make a new one takes longer than to fill it.
export class Squares {
  begin(context, colours, strength, side) {
    const { width, height } = context.canvas, ratio = devicePixelRatio || 1;
    if (this.image?.width !== width || this.image?.height !== height) {
      this.image = context.createImageData(width, height);
      this.pixels = new Uint32Array(this.image.data.buffer);
    } else this.pixels.fill(0);
    const { image, pixels } = this, edge = Math.max(1, Math.round(side * ratio));
    const fills = LEVELS.map((level) => Uint32Array.from(colours.fills, (fill) => mixed(fill, colours["--paper"], strength * level)));
    const point = (x, y, which, level) => {
      const left = Math.round(x * ratio - edge / 2), top = Math.round(y * ratio - edge / 2), fill = fills[level][which];
      const begin = Math.max(0, left), end = Math.min(width, left + edge), last = Math.min(height, top + edge);
      for (let row = Math.max(0, top); row < last; row += 1) {
        for (let place = row * width + begin; place < row * width + end; place += 1) pixels[place] = fill;
      }
    };
    return { point, done: () => context.putImageData(image, 0, 0) };
  }
}
