// Two models side by side: settings that differ, sizes, metrics, and their answers to one question.

import { get } from "./api.js";
import { el, show } from "./dom.js";
import { bytes, number } from "./numbers.js";
import { card, choice, fold, heading, notice, rankings, table, belongings } from "./parts.js";
import { searchBox } from "./search.js";
import { go, note, read } from "./state.js";

export async function drawCompare(place, { model, models, left, right, kind, name }) {
  place.append(heading("Compare", "Two of the models that are served here, side by side."));
  if (models.length < 2) {
    place.append(notice("Only one model is served here. Serve two to compare them: gossamer serve DIR DIR."));
    return;
  }
  const known = (wanted) => (models.some((one) => one.name === wanted) ? wanted : undefined);
  const first = known(left) ?? model;
  const second = known(right) ?? models.find((one) => one.name !== first).name;
  const options = models.map((one) => [one.name, one.name]);
  const change = (parameters) => {
    const asked = read(); // what was asked since the view was drawn stays asked
    go("compare", { model, left: first, right: second, kind: asked.kind, name: asked.name, ...parameters });
  };
  const found = await get("compare", { left: first, right: second });
  const answers = el("div", {}), asking = { turn: 0 };
  const search = searchBox({
    label: "Ask both about a name",
    model: () => first,
    choose: (hit) => {
      note("compare", { model, left: first, right: second, ...hit });
      return ask(answers, asking, first, second, hit.kind, hit.name);
    },
  });
  place.append(
    el("div", { class: "choices" }, choice("Left", options, first, (next) => change({ left: next })), choice("Right", options, second, (next) => change({ right: next }))),
    el("div", { class: "columns" }, card("Size", "", measures(found, found.sizes)), card("Metrics", "", found.metrics.length ? measures(found, found.metrics) : notice("Neither has recorded metrics."))),
    card("Ask both", "What both answer is marked.", search.node, answers),
    settings(found),
  );
  if (name !== undefined) {
    search.input.value = name;
    await ask(answers, asking, first, second, kind ?? "items", name);
  }
}

function settings(found) {
  const titles = { name: "setting", ...sides(found) };
  const differing = found.settings.filter((setting) => setting.differs), equal = found.settings.filter((setting) => !setting.differs);
  const lead = found.left_class === found.right_class ? `Both are ${found.left_class}.` : `${found.left_class} and ${found.right_class}.`;
  return card(
    "Settings that differ",
    lead,
    differing.length ? table(differing, { caption: "Settings that differ", titles }) : notice("None."),
    equal.length ? fold(`${equal.length} that are equal`, table(equal, { caption: "Equal settings", titles })) : null,
  );
}

// A column for each side; two models of one name cannot be served, but one model may be compared with itself.
function sides(found) {
  const { left, right } = found;
  return left === right ? { left: `${left} (left)`, right: `${right} (right)` } : { left, right };
}

function measures(found, rows) {
  const written = (side) => (value, row) => {
    const text = row.name === "bytes" && value !== null ? bytes(value) : number(value);
    return row.better === side ? el("strong", { class: "better" }, text) : text;
  };
  return table(rows, { caption: "Measures", cells: { left: written("left"), right: written("right") }, titles: { name: "what", ...sides(found) } });
}

async function ask(answers, asking, left, right, kind, name) {
  const turn = (asking.turn += 1);
  let found;
  try {
    found = await get("answers", { left, right, kind, name });
  } catch (error) {
    if (turn === asking.turn) show(answers, notice(error.message, "error"));
    return;
  }
  if (turn !== asking.turn) return; // another name was asked for meanwhile
  const shared = new Set(found.shared);
  const side = (model, about, reason) =>
    el("div", { class: "answer" }, el("h4", {}, model), about ? [rankings(about, { model }, shared), belongings(about, { model })] : notice(reason));
  show(
    answers,
    el("p", { class: "small" }, shared.size ? `${shared.size} names are in both answers.` : "No name is in both answers."),
    el("div", { class: "sides" }, side(left, found.left, found.left_note), side(right, found.right, found.right_note)),
  );
}
