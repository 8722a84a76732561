// The inside of a model, from top to bottom: what goes in and out of each layer, and what it costs.

import { get } from "./api.js";
import { el, show } from "./dom.js";
import { drawGraph } from "./graph.js";
import { bytes, count, share } from "./numbers.js";
import { choice, facts, fold, heading, notice, table, tiles } from "./parts.js";
import { go } from "./state.js";
import { tensorFacts } from "./tensor.js";

const SHOWN = [["list", "layers"], ["graph", "graph of operators"]];

export async function drawLayers(place, { model, show: shown = "list", part = 0 }) {
  const found = await get("layers", { model });
  const saved = found.before ? [["values before", count(found.before)]] : [];
  place.append(
    heading(found.is_network ? `Inside ${found.title}` : `What ${found.title} stores`, found.note),
    tiles([["layers", count(found.layers.length)], ["values", count(found.values)], ...saved, ["size", bytes(found.bytes)]]),
    el("div", { class: "choices" }, choice("Show", SHOWN, shown, (next) => go("layers", { model, show: next === "list" ? undefined : next }))),
  );
  if (shown === "graph") await drawGraph(place, model, Number(part));
  else place.append(found.layers.length ? el("div", { class: "flow" }, branches(found.layers, model)) : notice("Nothing is stored."));
}

// Layers of one branch (encoder, decoder …) lie together on one rail.
function branches(layers, model) {
  const groups = [];
  for (const layer of layers) {
    if (!groups.length || groups.at(-1).part !== layer.part) groups.push({ part: layer.part, layers: [] });
    groups.at(-1).layers.push(layer);
  }
  return groups.map(({ part, layers: inside }) =>
    el("section", { class: "branch" }, part ? el("h3", {}, part) : null, el("ol", {}, inside.map((layer) => drawLayer(layer, part, model)))),
  );
}

function drawLayer(layer, part, model) {
  const name = part && layer.name.startsWith(`${part}.`) ? layer.name.slice(part.length + 1) : layer.name;
  const opened = el("div", {});
  const asked = async (weight) => { show(opened, await tensorFacts(model, layer.name, weight)); };
  const detail = layer.weights.map((weight) => ({
    weight: weight.name, shape: weight.shape.join(" × ") || "1", type: weight.dtype, values: weight.values, bytes: weight.bytes,
  }));
  return el(
    "li",
    { class: layer.values ? "layer" : "layer light" },
    el("p", { class: "layername" }, el("strong", {}, layer.kind), el("span", { class: "kind" }, name), layer.rank ? el("span", { class: "rank" }, `rank ${layer.rank}`) : null),
    layer.flow ? el("p", { class: "flowtext" }, layer.flow) : null,
    layer.rank ? pair(layer) : null,
    layer.values
      ? [
          el("p", { class: "cost" }, `${count(layer.values)} values · ${bytes(layer.bytes)} · ${share(layer.share)}`, layer.before ? ` · ${share(layer.values / layer.before)} of what it was` : ""),
          el("span", { class: "meter", "aria-hidden": "true" }, el("span", { style: { width: `${100 * layer.share}%` } })),
          fold("Weights", table(detail, { caption: `Weights of ${layer.name}`, cells: { weight: (weight) => el("button", { type: "button", class: "link", on: { click: () => asked(weight) } }, weight) } }), opened),
        ]
      : null,
    settings(layer),
  );
}

function settings({ attributes, values }) {
  const entries = Object.entries(attributes);
  if (!entries.length) return null;
  return values ? fold("Settings", facts(attributes)) : el("p", { class: "small" }, entries.map(([name, value]) => `${name} ${value}`).join(", "));
}

// One layer as the two thin ones that stand for it.
function pair(layer) {
  const factors = layer.weights.filter((weight) => weight.shape.length > 1);
  return el("p", { class: "pair" }, factors.map((weight, place) => [place ? el("span", { class: "times" }, "·") : null, el("span", { class: "factor" }, weight.shape.join(" × "))]));
}
