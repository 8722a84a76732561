// What a model is: class, size, names, metrics, settings, data, training, what it says of itself, card.

import { get } from "./api.js";
import { lineChart } from "./chart.js";
import { el } from "./dom.js";
import { bytes, count } from "./numbers.js";
import { card, facts, fold, heading, notice, table, tiles } from "./parts.js";
import { address } from "./state.js";

export async function drawModel(place, { model }) {
  const found = await get("model", { model });
  const names = Object.entries(found.vocabularies).map(([kind, size]) => [kind, count(size)]);
  const doors = [
    found.has_groups ? el("a", { class: "button", href: address("groups", { model }) }, "Open its groups") : null,
    found.maps.length ? el("a", { class: "button", href: address("map", { model }) }, "See its map") : null,
    el("a", { class: "button", href: address("layers", { model }) }, "Look inside"),
  ];
  const metrics = Object.entries(found.metrics);
  place.append(
    heading(found.class_name, found.summary),
    tiles([["values", count(found.values)], ["size", bytes(found.bytes)], ...names]),
    el("p", { class: "doors" }, doors),
    el(
      "div",
      { class: "columns" },
      card("Metrics", "", metrics.length ? facts(found.metrics) : notice("None were recorded.")),
      card("Settings", "", facts(found.settings)),
      card(
        "Data",
        "",
        Object.keys(found.data).length ? facts(found.data) : notice("Not recorded."),
        el("p", { class: "small" }, `Class ${found.class_path}, saved by ${found.saved_by}.`),
      ),
    ),
    training(found.curves),
    ...Object.entries(found.tables).map(([title, rows]) => card(title, "", table(rows, { caption: title }))),
    found.card ? fold("Its card", el("pre", {}, found.card)) : "",
  );
}

function training(curves) {
  if (!curves.length) return "";
  return card(
    "How it was trained",
    `${curves[0].values.length} epochs.`,
    el("div", { class: "charts" }, curves.map((curve) => el("figure", {}, el("figcaption", {}, curve.name), lineChart(curve)))),
  );
}
