// The map of a space: zoom, pan, hover for a name, click for its neighbours.

import { get } from "./api.js";
import { Cloud } from "./cloud.js";
import { announce, el, show } from "./dom.js";
import { count } from "./numbers.js";
import { belongings, choice, heading, nameLink, notice, rankings } from "./parts.js";
import { go, note } from "./state.js";

const PROJECTIONS = [["pca", "principal components"], ["neighbours", "neighbours together"]];
const HELP = "Drag to move, scroll or pinch to zoom, click a point for its neighbours. By keyboard: arrows, + and −, 0 for all, Escape to let go.";

export async function drawMap(place, { model, kind, name, projection = "pca" }) {
  const about = await get("model", { model });
  if (!about.maps.length) {
    place.append(heading("Map"), notice("This model has no map: it keeps no vectors of its names."));
    return;
  }
  if (kind && !about.maps.includes(kind)) place.append(notice(`This model has no map of ${kind}; this is the one of ${about.maps[0]}.`, "error"));
  const chosen = about.maps.includes(kind) ? kind : about.maps[0];
  const points = await get("map", { model, kind: chosen, projection });
  const size = points.chosen_by ? `${count(points.num_points)} of ${count(points.total)}, ${points.chosen_by}:` : count(points.total);
  const canvas = el("canvas", { class: "cloud", tabindex: "0", role: "application", "aria-label": `Map of ${points.num_points} ${chosen}. ${HELP}` });
  const aboutIt = [
    el("p", { class: "lead" }, `${size} ${chosen}, by ${points.meaning}. ${projection === "pca" ? "The two directions in which they differ most." : "Near means alike; far means little."}`),
    el("p", { class: "small" }, HELP),
  ];
  const side = el("div", { class: "mapside" }, aboutIt);
  place.append(
    el("h2", { class: "hidden" }, "Map"),
    el(
      "div",
      { class: "choices" },
      about.maps.length > 1 ? choice("Names", about.maps.map((one) => [one, one]), chosen, (next) => go("map", { model, kind: next, projection })) : null,
      choice("Projection", PROJECTIONS, projection, (next) => go("map", { model, kind: chosen, projection: next, name })),
    ),
    el("div", { class: "mappage" }, el("div", { class: "canvasbox" }, canvas, buttons(), legend(points)), side),
  );

  place.addEventListener("shown", () => {
    const cloud = new Cloud(canvas, { coordinates: floats(points.coordinates), names: points.names, colours: points.colours && octets(points.colours) });
    const select = (point, isNew = true) => choosePoint(point, { cloud, side, aboutIt, model, kind: chosen, projection, points, isNew });
    follow(canvas, cloud, select);
    place.querySelector(".zoom").addEventListener("click", (event) => {
      const act = event.target.dataset.act;
      if (act === "fit") cloud.fit();
      else if (act) cloud.zoom(act === "in" ? 1.5 : 1 / 1.5);
    });
    const repaint = () => (canvas.isConnected ? cloud.redraw() : window.removeEventListener("recolour", repaint));
    window.addEventListener("recolour", repaint);
    new ResizeObserver(() => cloud.redraw()).observe(canvas);
    if (name === undefined) return;
    const point = points.names.indexOf(name);
    if (point < 0) show(side, notice(`“${name}” is not on this map.`, "error"));
    else select(point, false);
  }, { once: true });
}

function buttons() {
  const button = (act, text, label) => el("button", { type: "button", "data-act": act, "aria-label": label }, text);
  return el("div", { class: "zoom" }, button("in", "+", "Zoom in"), button("out", "−", "Zoom out"), button("fit", "⤢", "Show all"));
}

function legend(points) {
  if (!points.legend.length) return "";
  return el(
    "ul",
    { class: "key", "aria-label": `Colours: strongest ${points.legend_noun}` },
    points.legend.map((text, place) => el("li", {}, el("span", { class: `swatch series-${place + 1}` }), text)),
    el("li", {}, el("span", { class: "swatch other" }), `any other ${points.legend_noun}, or none`),
  );
}

// Mark a point, ask for its neighbours, and mark those that are on the map.
async function choosePoint(point, { cloud, side, aboutIt, model, kind, projection, points, isNew }) {
  cloud.selected = point;
  cloud.marked = [];
  cloud.redraw();
  if (point < 0) {
    note("map", { model, kind, projection });
    return show(side, aboutIt);
  }
  const name = points.names[point];
  note("map", { model, kind, projection, name });
  announce(name);
  show(side, el("h3", {}, nameLink(kind, name)), el("p", { class: "small" }, "Asking…"));
  try {
    const found = await get("about", { model, kind, name, n: 12 });
    if (cloud.selected !== point) return undefined;
    const places = new Map(points.names.map((one, place) => [one, place]));
    cloud.marked = (found.rankings[0]?.rows ?? []).map((row) => places.get(row.name)).filter((one) => one !== undefined);
    if (!isNew) cloud.centre(point, cloud.view.span / 3);
    cloud.redraw();
    show(side, el("h3", {}, nameLink(kind, name)), rankings({ rankings: found.rankings.slice(0, 1) }), belongings({ belongings: found.belongings.slice(0, 1) }));
  } catch (error) {
    if (cloud.selected === point) show(side, notice(error.message, "error"));
  }
  return undefined;
}

// Pointers and keys. A press that does not move is a click; two pointers pinch.
function follow(canvas, cloud, select) {
  const pointers = new Map();
  let moved = 0;
  const hover = (event) => {
    const point = cloud.at(event.offsetX, event.offsetY);
    if (point === cloud.hovered) return;
    cloud.hovered = point;
    canvas.style.cursor = point < 0 ? "grab" : "pointer";
    canvas.title = point < 0 ? "" : cloud.names[point];
    cloud.redraw();
  };
  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    pointers.set(event.pointerId, [event.offsetX, event.offsetY]);
    moved = 0;
  });
  canvas.addEventListener("pointermove", (event) => {
    const before = pointers.get(event.pointerId);
    if (!before) return hover(event);
    const [dx, dy] = [event.offsetX - before[0], event.offsetY - before[1]];
    moved += Math.abs(dx) + Math.abs(dy);
    if (pointers.size === 2) {
      const [other] = [...pointers.entries()].filter(([id]) => id !== event.pointerId).map(([, at]) => at);
      const apart = (at) => Math.max(1, Math.hypot(at[0] - other[0], at[1] - other[1]));
      cloud.zoom(apart([event.offsetX, event.offsetY]) / apart(before), (event.offsetX + other[0]) / 2, (event.offsetY + other[1]) / 2);
    } else if (moved > 4) cloud.pan(dx, dy);
    pointers.set(event.pointerId, [event.offsetX, event.offsetY]);
    return undefined;
  });
  const release = (event) => {
    if (pointers.delete(event.pointerId) && event.type === "pointerup" && moved <= 4) select(cloud.at(event.offsetX, event.offsetY, 20));
  };
  canvas.addEventListener("pointerup", release);
  canvas.addEventListener("pointercancel", release);
  canvas.addEventListener("pointerleave", () => { cloud.hovered = -1; cloud.redraw(); });
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    cloud.zoom(Math.exp(-event.deltaY * (event.deltaMode ? 0.05 : 0.0018)), event.offsetX, event.offsetY);
  }, { passive: false });
  canvas.addEventListener("keydown", (event) => {
    const step = 60;
    const acts = {
      ArrowLeft: () => cloud.pan(step, 0), ArrowRight: () => cloud.pan(-step, 0), ArrowUp: () => cloud.pan(0, step), ArrowDown: () => cloud.pan(0, -step),
      "+": () => cloud.zoom(1.5), "=": () => cloud.zoom(1.5), "-": () => cloud.zoom(1 / 1.5), 0: () => cloud.fit(), Escape: () => select(-1),
      Enter: () => select(cloud.at(canvas.clientWidth / 2, canvas.clientHeight / 2, canvas.clientWidth)),
    };
    if (!acts[event.key]) return;
    event.preventDefault();
    acts[event.key]();
  });
  // For tests and curious people: what is drawn, where.
  canvas.cloud = cloud;
}

function octets(text) {
  return Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
}

function floats(text) {
  return new Float32Array(octets(text).buffer);
}
