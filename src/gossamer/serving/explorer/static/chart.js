// Small drawings in SVG: a line, bubbles, and points by two quantities. Colours come from the style sheet.

import { svg } from "./dom.js";
import { number, share } from "./numbers.js";

export function lineChart({ name, values }) {
  const width = 260, height = 90, points = values.map((value, epoch) => [epoch, value]).filter(([, value]) => value !== null);
  if (points.length < 2) return svg("svg");
  const [low, high] = extent(points.map(([, value]) => value));
  const x = (epoch) => 4 + ((width - 8) * epoch) / Math.max(1, values.length - 1);
  const y = (value) => height - 18 - ((height - 34) * (value - low)) / (high - low || 1);
  const last = points.at(-1);
  return svg(
    "svg",
    { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `${name}: from ${number(points[0][1])} to ${number(last[1])}` },
    svg("path", { class: "line", d: `M${points.map(([epoch, value]) => `${x(epoch).toFixed(1)},${y(value).toFixed(1)}`).join("L")}` }),
    svg("text", { x: 4, y: 11 }, number(points[0][1])),
    svg("text", { x: width - 4, y: height - 3, "text-anchor": "end" }, number(last[1])),
  );
}

// Groups on a plane; the list beside it is what keyboards and screen readers use.
export function bubbles(groups, choose) {
  const size = 320, margin = 26;
  const [left, right] = extent(groups.map((group) => group.x));
  const [bottom, top] = extent(groups.map((group) => group.y));
  const scale = (size - 2 * margin) / Math.max(right - left, top - bottom, 1e-9);
  const x = (value) => size / 2 + (value - (left + right) / 2) * scale;
  const y = (value) => size / 2 - (value - (bottom + top) / 2) * scale;
  const largest = Math.max(...groups.map((group) => group.size), 1e-12);
  const room = Math.min(26, 90 / Math.sqrt(groups.length)); // of the largest dot
  const dots = groups
    .map((group) => ({ group, radius: radiusOf(group.size, largest, room, 3) }))
    .sort((one, other) => other.radius - one.radius) // small ones above large ones
    .map(({ group, radius }) =>
      svg(
        "g",
        { class: "bubble", "data-number": group.number, transform: `translate(${x(group.x).toFixed(1)} ${y(group.y).toFixed(1)})`, on: { click: () => choose(group) } },
        svg("circle", { r: radius }),
        radius > 9 ? svg("text", { dy: "0.35em" }, group.label) : null,
        svg("title", {}, `${group.label}: ${group.title}`),
      ),
    );
  const node = svg(
    "svg",
    { class: "bubbles", viewBox: `0 0 ${size} ${size}`, role: "img", "aria-label": `Map of ${groups.length} groups` },
    svg("path", { class: "axis", d: `M${size / 2} 4V${size - 4}M4 ${size / 2}H${size - 4}` }),
    dots,
    scaleOf(largest, room, size),
  );
  // Circles by other shares, one for each group, such as those of a name; by the groups' own sizes without them.
  const resize = (shares) => {
    const most = shares ? Math.max(...shares, 1e-12) : largest;
    for (const dot of node.querySelectorAll(".bubble")) {
      const one = Number(dot.dataset.number);
      const group = groups.find((other) => other.number === one);
      dot.querySelector("circle").setAttribute("r", radiusOf(shares ? shares[one] : group.size, most, room, shares ? 1 : 3));
    }
    node.classList.toggle("spread", Boolean(shares));
  };
  const mark = (chosen) => {
    for (const dot of node.querySelectorAll(".bubble")) dot.classList.toggle("chosen", Number(dot.dataset.number) === chosen);
    node.append(node.querySelector(".chosen") ?? ""); // above all others
  };
  return { node, mark, resize };
}

// Areas are as sizes are; nothing is too small to be hit.
function radiusOf(size, largest, room, least) {
  return Math.max(least, room * Math.sqrt(Math.max(0, size) / largest)).toFixed(1);
}

// What a circle's area stands for: the largest, and a quarter of it.
function scaleOf(largest, room, size) {
  const at = (radius) => `translate(${(8 + room).toFixed(1)} ${(size - 6 - radius).toFixed(1)})`;
  return svg(
    "g",
    { class: "scale", "aria-hidden": "true" },
    [1, 0.25].map((part) => svg("circle", { r: (room * Math.sqrt(part)).toFixed(1), transform: at(room * Math.sqrt(part)) })),
    svg("text", { x: 12 + 2 * room, y: size - 4 - 1.6 * room }, share(largest)),
    svg("text", { x: 12 + 2 * room, y: size - 6 }, share(largest / 4)),
  );
}

export function extent(values) {
  return [Math.min(...values), Math.max(...values)];
}

// Round numbers for an axis: 1, 2 and 5 times powers of ten, or powers of ten alone where it is logarithmic.
export function ticks(low, high, isLog, most = 6) {
  if (isLog) {
    const found = [];
    for (let power = Math.ceil(Math.log10(low)); power <= Math.floor(Math.log10(high)); power += 1) found.push(10 ** power);
    return found.length > 1 ? found : [low, high];
  }
  const rough = (high - low) / most || 1, power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((one) => one >= rough);
  const found = [];
  for (let value = Math.ceil(low / step) * step; value <= high + 1e-9 * step; value += step) found.push(Number(value.toPrecision(12)));
  return found;
}

const SHAPES = [
  "M-5 0A5 5 0 1 0 5 0A5 5 0 1 0-5 0Z",
  "M-4.6-4.6H4.6V4.6H-4.6Z",
  "M0-6L5.6 4.2H-5.6Z",
  "M0-6.2L6.2 0L0 6.2L-6.2 0Z",
];

// Which colour and shape a method has: colour alone would not do for sixteen of them.
export function sign(place) {
  return { series: 1 + (place % 4), shape: SHAPES[Math.floor(place / 4) % 4] };
}

export function signNode(place) {
  const { series, shape } = sign(place);
  return svg("svg", { class: "sign", viewBox: "-8 -8 16 16", "aria-hidden": "true" }, svg("path", { class: `series-${series}`, d: shape }));
}
