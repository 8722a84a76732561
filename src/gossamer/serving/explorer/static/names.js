// What a model knows about one name.

import { get } from "./api.js";
import { el } from "./dom.js";
import { belongings, card, facts, heading, nameLink, notice, rankings, table } from "./parts.js";
import { address } from "./state.js";

export async function drawNames(place, { model, kind, name }) {
  if (name === undefined) return drawStart(place, model);
  let found;
  try {
    found = await get("about", { model, kind: kind ?? "items", name });
  } catch (error) {
    place.append(notice(error.message, "error"));
    return drawStart(place, model);
  }
  const map = found.has_map
    ? el("a", { class: "button", href: address("map", { model, kind: found.kind, name: found.name }) }, "Show on the map")
    : null;
  const lists = [...rankings(found), ...belongings(found)];
  place.append(
    el("p", { class: "crumb" }, `one of the ${found.kind} of ${model}`),
    heading(found.name || "(no name)"),
    Object.keys(found.facts).length ? facts(found.facts) : "",
    map ? el("p", { class: "doors" }, map) : "",
    lists.length ? el("div", { class: "columns" }, lists) : notice("The model keeps nothing about single names of this kind."),
    ...Object.entries(found.tables).map(([title, rows]) =>
      card(title, "", table(rows, { caption: title, cells: { item: (item) => nameLink("items", String(item)) } })),
    ),
  );
  return undefined;
}

// Nothing looked up yet: say how, and offer names to begin with.
async function drawStart(place, model) {
  const found = await get("model", { model });
  const kinds = Object.entries(found.vocabularies);
  place.append(
    heading("Look up a name", "Type a part of it above, or press / from anywhere. Arrow keys choose, Enter opens."),
    kinds.length
      ? el("p", {}, `This model knows ${kinds.map(([kind, size]) => `${size.toLocaleString("en")} ${kind}`).join(" and ")}.`)
      : notice("This model knows no names: it was trained on plain numbers."),
  );
  const examples = await get("examples", { model });
  for (const one of examples) {
    place.append(card(`Some ${one.kind}`, "", el("ul", { class: "chips" }, one.names.map((name) => el("li", {}, nameLink(one.kind, name))))));
  }
}
