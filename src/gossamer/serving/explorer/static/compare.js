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
  const answers = el("div", {});
  const search = searchBox({
    label: "Ask both about a name",
    model: () => first,
    choose: (hit) => {
      note("compare", { model, left: first, right: second, ...hit });
      return ask(answers, first, second, hit.kind, hit.name);
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
    await ask(answers, first, second, kind ?? "items", name);
  }
}

function settings(found) {
  const row = (setting) => ({ setting: setting.name, [sides(found)[0]]: setting.left ?? "–", [sides(found)[1]]: setting.right ?? "–" });
  const differing = found.settings.filter((setting) => setting.differs), equal = found.settings.filter((setting) => !setting.differs);
  const lead = found.left_class === found.right_class ? `Both are ${found.left_class}.` : `${found.left_class} and ${found.right_class}.`;
  return card(
    "Settings that differ",
    lead,
    differing.length ? table(differing.map(row), { caption: "Settings that differ" }) : notice("None."),
    equal.length ? fold(`${equal.length} that are equal`, table(equal.map(row), { caption: "Equal settings" })) : null,
  );
}

// A column for each side; two models of one name cannot be served, but one model may be compared with itself.
function sides(found) {
  return found.left === found.right ? [`${found.left} (left)`, `${found.right} (right)`] : [found.left, found.right];
}

function measures(found, rows) {
  const [one, other] = sides(found);
  const written = (side) => (value, row) => {
    const text = row.what === "bytes" && value !== null ? bytes(value) : number(value);
    return row.better === side ? el("strong", { class: "better" }, text) : text;
  };
  const cells = { [one]: written("left"), [other]: written("right"), better: () => "" };
  const shown = rows.map((row) => ({ what: row.name, [one]: row.left, [other]: row.right, better: row.better }));
  // Which is better is said by a mark on the number, not by a column of its own.
  const node = table(shown, { caption: "Measures", cells });
  for (const line of node.querySelectorAll("tr")) line.lastElementChild.remove();
  return node;
}

async function ask(answers, left, right, kind, name) {
  let found;
  try {
    found = await get("answers", { left, right, kind, name });
  } catch (error) {
    show(answers, notice(error.message, "error"));
    return;
  }
  const shared = new Set(found.shared);
  const side = (model, about, reason) =>
    el("div", { class: "answer" }, el("h4", {}, model), about ? [rankings(about, { model }, shared), belongings(about, { model })] : notice(reason));
  show(
    answers,
    el("p", { class: "small" }, shared.size ? `${shared.size} names are in both answers.` : "No name is in both answers."),
    el("div", { class: "sides" }, side(left, found.left, found.left_note), side(right, found.right, found.right_note)),
  );
}
