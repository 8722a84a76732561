// The map of a space: which projection, which axes, which colours; and how its points are packed.

import { get } from "./api.js";
import { Cloud } from "./cloud.js";
import { endBoxes, givenEnds, withoutEnds } from "./directions.js";
import { el } from "./dom.js";
import { mapSide } from "./mapside.js";
import { count, share } from "./numbers.js";
import { choice, heading, notice } from "./parts.js";
import { follow } from "./pointing.js";
import { go } from "./state.js";

const PROJECTIONS = [["pca", "principal components"], ["neighbours", "neighbours together"], ["tsne", "t-SNE"], ["directions", "between names"]];
const SHAPES = [["2", "plane"], ["3", "room (3-D)"]];
const FLAT_HELP = "Drag to move, scroll or pinch to zoom, click a point for its neighbours. By keyboard: arrows, + and −, 0 for all, Escape to let go.";
const ROOM_HELP = "Drag to turn, with Shift to move, scroll or pinch to zoom, click a point for its neighbours. By keyboard: arrows turn, with Shift they move, + and −, 0 for all, Escape to let go.";

export async function drawMap(place, { model, kind, name, projection = "pca", axes = "1,2", colour, ...others }) {
  const about = await get("model", { model });
  if (!about.maps.length) {
    place.append(heading("Map"), notice("This model has no map: it keeps no vectors of its names."));
    return;
  }
  if (kind && !about.maps.includes(kind)) place.append(notice(`This model has no map of ${kind}; this is the one of ${about.maps[0]}.`, "error"));
  const chosen = about.maps.includes(kind) ? kind : about.maps[0];
  const ends = givenEnds(others);
  const points = await get("map", { model, kind: chosen, projection, axes, ...(colour ? { colour } : {}), ...ends });
  const help = points.axes.length === 3 ? ROOM_HELP : FLAT_HELP;
  const canvas = el("canvas", { class: "cloud", tabindex: "0", role: "application", "aria-label": `Map of ${points.num_points} ${chosen}. ${help}` });
  const here = { model, kind: chosen, projection, axes, colour, name, ...ends };
  const side = mapSide(here, points, [el("p", { class: "lead" }, said(points)), el("p", { class: "small" }, help)]);
  place.append(
    el("h2", { class: "hidden" }, "Map"),
    controls(here, about.maps, points),
    projection === "directions" ? endBoxes(here, points.ends) : "",
    el("div", { class: "mappage" }, el("div", { class: "canvasbox" }, canvas, buttons(), legend(points)), side.node),
  );

  place.addEventListener("shown", () => {
    const cloud = new Cloud(canvas, {
      coordinates: floats(points.coordinates), width: points.axes.length, names: points.names, colours: points.colours && octets(points.colours), isAmount: points.is_amount, ends: points.ends,
    });
    side.start(cloud);
    follow(canvas, cloud, side.select);
    place.querySelector(".zoom").addEventListener("click", (event) => {
      const act = event.target.dataset.act;
      if (act === "fit") cloud.fit();
      else if (act) cloud.zoom(act === "in" ? 1.5 : 1 / 1.5);
    });
    const repaint = () => (canvas.isConnected ? cloud.recolour() : window.removeEventListener("recolour", repaint));
    window.addEventListener("recolour", repaint);
    new ResizeObserver(() => cloud.redraw()).observe(canvas);
  }, { once: true });
}

function said({ kind, meaning, chosen_by: chosenBy, num_points: shown, total, projection, axes, variance, ends }) {
  const size = chosenBy ? `${count(shown)} of ${count(total)}, ${chosenBy}:` : count(total);
  if (projection === "directions") {
    const up = ends[2] ? `up from “${ends[2]}” to “${ends[3]}”` : "up by what else they differ in most";
    return `${size} ${kind}, by ${meaning}: across from “${ends[0]}” to “${ends[1]}”, which are one apart, ${up}.`;
  }
  if (projection === "tsne") return `${size} ${kind}, by ${meaning}. Near means alike; neither distances between heaps nor their sizes mean anything.`;
  if (projection !== "pca") return `${size} ${kind}, by ${meaning}. Near means alike; far means little.`;
  const kept = axes.reduce((sum, axis) => sum + variance[axis - 1], 0);
  return `${size} ${kind}, by ${meaning}. These ${axes.length} directions have ${share(kept)} of all variance.`;
}

// What is shown, and how: every choice is an address.
function controls(here, maps, { axes, variance, colour, colour_choices: colours }) {
  const { projection } = here;
  const change = (changes) => go("map", { ...here, ...changes });
  const withAxis = (place, axis) => {
    const next = [...axes], other = next.indexOf(axis);
    if (other >= 0) next[other] = next[place]; // two axes change places
    next[place] = axis;
    change({ axes: next.join(",") });
  };
  const options = variance.map((part, place) => [String(place + 1), `${place + 1} · ${share(part)}`]).filter((_, place) => variance[place] > 0 || axes.includes(place + 1));
  return el(
    "div",
    { class: "choices tight" },
    maps.length > 1 ? choice("Names", maps.map((one) => [one, one]), here.kind, (next) => change(withoutEnds({ kind: next, colour: undefined, name: undefined, axes: undefined }))) : null,
    choice("Projection", PROJECTIONS, projection, (next) => change(withoutEnds({ projection: next, axes: axes.length === 3 && next !== "directions" ? "1,2,3" : undefined }))),
    projection === "directions" ? null : choice("Shape", SHAPES, String(axes.length), (next) => change({ axes: next === "3" ? thirdAxis(axes) : axes.slice(0, 2).join(",") })),
    projection === "pca" ? ["Across", "Up", "Deep"].slice(0, axes.length).map((label, place) => choice(label, options, String(axes[place]), (next) => withAxis(place, Number(next)))) : null,
    colours.length > 1 ? choice("Colour", colours.map(({ key, title }) => [key, title]), colour, (next) => change({ colour: next })) : null,
  );
}

function thirdAxis(axes) {
  return [...axes, [1, 2, 3].find((axis) => !axes.includes(axis))].join(",");
}

function buttons() {
  const button = (act, text, label) => el("button", { type: "button", "data-act": act, "aria-label": label }, text);
  return el("div", { class: "zoom" }, button("in", "+", "Zoom in"), button("out", "−", "Zoom out"), button("fit", "⤢", "Show all"));
}

function legend({ legend: entries, legend_noun: noun, is_amount: isAmount }) {
  if (!entries.length) return "";
  return el(
    "ul",
    { class: "key", "aria-label": isAmount ? "Colours: how often a name comes" : `Colours: strongest ${noun}` },
    isAmount ? el("li", {}, "how often:") : null,
    entries.map((text, place) => el("li", {}, el("span", { class: `swatch ${isAmount ? "ramp" : "series"}-${place + 1}` }), text)),
    isAmount ? null : el("li", {}, el("span", { class: "swatch other" }), `any other ${noun}, or none`),
  );
}

function octets(text) {
  return Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
}

function floats(text) {
  return new Float32Array(octets(text).buffer);
}
