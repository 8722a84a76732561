// Axes of one's own: the names from which and to which a map runs, each found by a box.

import { el } from "./dom.js";
import { searchBox } from "./search.js";
import { go } from "./state.js";

const KEYS = ["across_from", "across_to", "up_from", "up_to"];
const LABELS = ["Across: from", "Across: to", "Up: from", "Up: to"];

// Those of an address that are given, as parameters of a question.
export function givenEnds(parameters) {
  return Object.fromEntries(KEYS.filter((key) => parameters[key] !== undefined).map((key) => [key, parameters[key]]));
}

export function withoutEnds(parameters) {
  return { ...parameters, ...Object.fromEntries(KEYS.map((key) => [key, undefined])) };
}

// Four boxes; a pair that is whole becomes the address. `ends` are the names between which the map runs now.
export function endBoxes(here, ends) {
  const told = el("span", { role: "status" });
  const wanted = Object.fromEntries(KEYS.map((key, place) => [key, ends[place] || undefined]));
  const change = () => go("map", { ...here, ...wanted, axes: undefined });
  const boxes = KEYS.map((key, place) => {
    const other = KEYS[place ^ 1];
    const box = searchBox({
      label: LABELS[place],
      placeholder: key === "up_from" || key === "up_to" ? "what else differs" : "a name",
      model: () => here.model,
      choose: (hit) => {
        if (hit.kind !== here.kind) { told.textContent = `“${hit.name}” is one of the ${hit.kind}, not of the ${here.kind}.`; return; }
        wanted[key] = hit.name;
        if (wanted[other] === undefined) told.textContent = "Now the other end.";
        else change();
      },
    });
    box.input.value = ends[place];
    return el("div", { class: "choice" }, el("span", { "aria-hidden": "true" }, LABELS[place]), box.node);
  });
  const free = () => { wanted.up_from = wanted.up_to = undefined; change(); };
  return el(
    "div",
    { class: "ends" },
    el("div", { class: "choices tight" }, boxes),
    el("p", { class: "small" }, told, ends[2] ? el("button", { type: "button", class: "link", on: { click: free } }, "Let up be what else differs most") : null),
  );
}
