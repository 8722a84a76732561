// How a model computes its answer: boxes for operators, arrows for what they pass on, and one of them opened.

import { get } from "./api.js";
import { el, show, svg } from "./dom.js";
import { count, number } from "./numbers.js";
import { card, facts, notice } from "./parts.js";
import { go } from "./state.js";
import { tensorFacts } from "./tensor.js";

const WIDE = 150, HIGH = 46, COLUMN = 170, ROW = 84, MARGIN = 14;
const ZOOMS = [0.35, 0.5, 0.7, 1, 1.4];

export async function drawGraph(place, model, part = 0) {
  let drawing;
  try {
    drawing = await get("graph", { model, part });
  } catch (error) {
    place.append(notice(error.message));
    return;
  }
  const width = 2 * MARGIN + drawing.width * COLUMN, height = 2 * MARGIN + drawing.height * ROW;
  const side = el("div", { class: "graphside", "aria-live": "polite" }, about(drawing, model, part));
  const boxes = drawing.boxes.map((box) => drawBox(box));
  const picture = svg(
    "svg",
    { class: "graph", viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": `Graph of ${drawing.boxes.length} operators: ${drawing.answers}` },
    drawing.arrows.map((arrow) => drawArrow(arrow, drawing.boxes)),
    shapes(drawing),
    boxes,
  );
  const field = el("div", { class: "graphfield", tabindex: "-1" }, picture);
  let zoom = innerWidth < 700 ? 2 : 3;
  const resize = () => { picture.style.width = `${width * ZOOMS[zoom]}px`; };
  const zoomBy = (step) => { zoom = Math.min(ZOOMS.length - 1, Math.max(0, zoom + step)); resize(); };
  resize();

  const open = async (chosen, isMoved = false) => {
    boxes.forEach((box, at) => { box.classList.toggle("chosen", at === chosen); box.setAttribute("tabindex", at === chosen ? "0" : "-1"); });
    if (isMoved) boxes[chosen].focus();
    const lit = drawing.arrows.map((arrow) => arrow.source === chosen || arrow.target === chosen);
    picture.querySelectorAll(".arrow").forEach((arrow, at) => arrow.classList.toggle("lit", lit[at]));
    show(side, opened(drawing, chosen, model, (other) => open(other, true)), parts(drawing, model, part));
  };
  boxes.forEach((box, at) => box.addEventListener("click", () => open(at)));
  picture.addEventListener("keydown", (event) => {
    const at = boxes.indexOf(document.activeElement), to = at < 0 ? -1 : neighbour(drawing, at, event.key);
    if (at >= 0 && (event.key === "Enter" || event.key === " ")) { event.preventDefault(); open(at); }
    if (to < 0) return;
    event.preventDefault();
    open(to, true);
  });
  boxes[0]?.setAttribute("tabindex", "0");
  const button = (text, label, step) => el("button", { type: "button", "aria-label": label, on: { click: () => zoomBy(step) } }, text);
  place.append(
    el(
      "div",
      { class: "graphpage" },
      el("div", { class: "canvasbox" }, field, el("div", { class: "zoom" }, button("+", "Zoom in", 1), button("−", "Zoom out", -1))),
      side,
    ),
  );
  place.addEventListener("shown", () => { field.scrollLeft = (field.scrollWidth - field.clientWidth) / 2; }, { once: true });
}

const left = ({ x }) => MARGIN + x * COLUMN;
const top = ({ y }) => MARGIN + y * ROW;

function drawBox(box) {
  const weights = box.constants.filter((one) => !one.text);
  const lines = box.role ? box.attributes.shape ?? "" : weights.map((one) => one.shape.join("×")).join(", ") || box.constants.map((one) => one.text).join(", ");
  const below = lines.length > 22 ? `${lines.slice(0, 21)}…` : lines;
  return svg(
    "g",
    { class: `box ${box.role || (weights.length ? "weighty" : "")}`, transform: `translate(${left(box).toFixed(1)} ${top(box).toFixed(1)})`, role: "button", tabindex: "-1", "aria-label": `${box.role} ${box.kind} ${lines}`.trim() },
    svg("rect", { width: WIDE, height: HIGH, rx: 8 }),
    svg("text", { x: WIDE / 2, y: below ? 19 : 28 }, box.kind),
    below ? svg("text", { class: "below", x: WIDE / 2, y: 36 }, below) : null,
  );
}

// From the bottom of one box, through its lanes, to the top of the other.
function drawArrow({ source, target, path }, boxes) {
  const stops = [
    [left(boxes[source]) + WIDE / 2, top(boxes[source]) + HIGH],
    ...path.flatMap(([x, y]) => [[left({ x }) + WIDE / 2, top({ y })], [left({ x }) + WIDE / 2, top({ y }) + HIGH]]),
    [left(boxes[target]) + WIDE / 2, top(boxes[target])],
  ];
  let line = `M${stops[0].map((value) => value.toFixed(1))}`;
  for (let at = 1; at < stops.length; at += 1) {
    const [x, y] = stops[at - 1], [toX, toY] = stops[at], bend = (toY - y) / 2;
    line += x === toX ? `V${toY.toFixed(1)}` : `C${[x, y + bend, toX, toY - bend, toX, toY].map((value) => value.toFixed(1))}`;
  }
  const [x, y] = stops.at(-1);
  return svg("path", { class: "arrow", d: `${line}m-4 -6L${x.toFixed(1)},${y.toFixed(1)}l4 -6` });
}

// What shape goes on from a box, once for each thing it passes on: below its middle, beside the arrow.
function shapes({ boxes, arrows }) {
  const told = new Map(arrows.filter((arrow) => arrow.shape).map((arrow) => [arrow.name, arrow]));
  const places = new Map(); // several results of one box stand one below the other
  return [...told.values()].map(({ source, shape }) => {
    const place = places.get(source) ?? 0;
    places.set(source, place + 1);
    const text = shape.length > 16 ? `${shape.slice(0, 15)}…` : shape;
    return place > 1 ? null : svg("text", { class: "shape", x: left(boxes[source]) + WIDE / 2 + 6, y: top(boxes[source]) + HIGH + 12 + 12 * place }, text);
  });
}

// Where an arrow key leads: down and up along arrows, sideways in a row.
function neighbour({ boxes, arrows }, at, key) {
  const along = { ArrowDown: ["source", "target"], ArrowUp: ["target", "source"] }[key];
  if (along) return arrows.find((arrow) => arrow[along[0]] === at)?.[along[1]] ?? -1;
  const step = { ArrowRight: 1, ArrowLeft: -1 }[key];
  if (!step) return -1;
  const row = boxes.filter((box) => box.y === boxes[at].y).sort((one, other) => one.x - other.x);
  return row[row.indexOf(boxes[at]) + step]?.number ?? -1;
}

// Where a long graph is cut: which operators these are, and the way to those before and after them.
function parts({ first, total, num_parts: many, boxes }, model, part) {
  if (many === 1) return null;
  const last = first + boxes.filter((box) => box.role !== "earlier").length;
  const turn = (text, next) => el("button", { type: "button", class: "button", disabled: next < 0 || next >= many, on: { click: () => go("layers", { model, show: "graph", part: next || undefined }) } }, text);
  return card("A long graph", "", el("p", {}, `Operators ${count(first + 1)} to ${count(last)} of ${count(total)}: loops are written out, step by step.`), el("div", { class: "choices" }, turn("Earlier", part - 1), turn("Later", part + 1)));
}

function about(drawing, model, part) {
  const { answers, boxes } = drawing;
  const ends = (role) => boxes.filter((box) => box.role === role);
  const listed = (role) => Object.fromEntries(ends(role).map((box) => [box.kind, `${box.attributes.shape}, ${box.attributes.type}`]));
  return [
    el("p", { class: "lead" }, `${answers[0].toUpperCase()}${answers.slice(1)}.`),
    parts(drawing, model, part),
    ends("input").length ? card("Goes in", "", facts(listed("input"))) : null,
    ends("output").length ? card("Comes out", "", facts(listed("output"))) : null,
    el("p", { class: "small" }, "Click a box for its settings and weights. By keyboard: arrows follow the graph, Enter opens. The same graph as a file: gossamer export --to onnx."),
  ];
}

function opened({ boxes, arrows }, chosen, model, go) {
  const box = boxes[chosen];
  const links = (found, end) =>
    found.length ? el("ul", { class: "chips" }, found.map((arrow) => el("li", {}, el("button", { type: "button", class: "button", on: { click: () => go(arrow[end]) } }, boxes[arrow[end]].kind, arrow.shape ? el("span", { class: "kind" }, ` ${arrow.shape}`) : null)))) : el("p", { class: "small" }, "nothing");
  return card(
    box.role ? `${box.kind} (${box.role})` : box.kind,
    "",
    Object.keys(box.attributes).length ? facts(box.attributes) : null,
    el("h4", {}, "From"), links(arrows.filter((arrow) => arrow.target === chosen), "source"),
    el("h4", {}, "To"), links(arrows.filter((arrow) => arrow.source === chosen), "target"),
    box.constants.length ? el("h4", {}, "With") : null,
    box.constants.map((one) => constant(one, model)),
  );
}

function constant(one, model) {
  const shape = one.shape.join(" × ") || "one number";
  if (one.text) return el("p", {}, one.text, el("span", { class: "kind" }, ` ${one.dtype}`));
  const range = one.low === null ? "" : `, from ${number(one.low)} to ${number(one.high)}`;
  const place = el("div", {});
  const asked = async (event) => { event.target.disabled = true; show(place, await tensorFacts(model, one.layer, one.weight)); };
  return el(
    "div",
    { class: "constant" },
    el("p", {}, one.layer ? el("button", { type: "button", class: "link", on: { click: asked } }, one.layer === one.weight ? one.weight : `${one.layer}.${one.weight}`, one.is_turned ? " (axes exchanged)" : "") : "worked out from the model"),
    el("p", { class: "small" }, `${shape}, ${one.dtype}${range}`),
    place,
  );
}
