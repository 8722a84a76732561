// The pieces that views are made of.

import { el, arrowKeys } from "./dom.js";
import { number, score } from "./numbers.js";
import { address } from "./state.js";

export function notice(text, kind = "") {
  return el("p", { class: `notice ${kind}`, role: kind === "error" ? "alert" : null }, text);
}

export function heading(title, lead, level = 2) {
  return el("div", { class: "heading" }, el(`h${level}`, {}, title), lead ? el("p", { class: "lead" }, lead) : null);
}

export function card(title, lead, ...content) {
  return el("section", { class: "card" }, title ? heading(title, lead, 3) : null, ...content);
}

export function nameLink(kind, name, parameters = {}) {
  return el("a", { class: "name", href: address("names", { kind, name, ...parameters }), title: name }, name || "(no name)");
}

export function groupLink(key, { number: index, label, title }, noun, parameters = {}) {
  const href = address("groups", { key, number: index, ...parameters });
  return el("a", { class: "name", href, title: `${noun} ${label}: ${title}` }, el("strong", {}, label), ` ${title}`);
}

export function tiles(entries) {
  return el(
    "dl",
    { class: "tiles" },
    entries.map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, value))),
  );
}

export function facts(entries) {
  return el(
    "dl",
    { class: "facts" },
    Object.entries(entries).map(([name, value]) =>
      el("div", {}, el("dt", {}, name), el("dd", {}, typeof value === "number" ? number(value) : String(value ?? "–"))),
    ),
  );
}

// Rows of a label, a bar and a number; `back` is a second, quieter bar behind the first.
// `point(row)` is called for the row that the pointer moves to or that has the focus, and with null when it is left. A row that
// is drawn under a resting pointer is entered, too, but nobody has pointed at it.
export function bars(rows, { label = "", marked = new Set(), point = null } = {}) {
  const longest = Math.max(...rows.map((row) => Math.max(Math.abs(row.value), row.back ?? 0)), 1e-12);
  const width = (value) => `${(100 * Math.abs(value)) / longest}%`;
  let under = null;
  const pointer = (row) => {
    if (row !== under) point(row);
    under = row;
  };
  const list = el(
    "ol",
    { class: "bars", "aria-label": label },
    rows.map((row) =>
      el(
        "li",
        {
          class: marked.has(row.key) ? "marked" : "",
          on: point && { pointermove: () => pointer(row), pointerleave: () => pointer(null), focusin: () => point(row), focusout: () => point(null) },
        },
        el("span", { class: "what" }, row.link),
        el(
          "span",
          { class: "track", "aria-hidden": "true" },
          row.back === undefined ? null : el("span", { class: "back", style: { width: width(row.back) } }),
          el("span", { class: `fore${row.value < 0 ? " below" : ""}`, style: { width: width(row.value) } }),
        ),
        el("span", { class: "amount" }, row.text ?? score(row.value)),
      ),
    ),
  );
  return arrowKeys(list, "a");
}

// A table of rows with equal keys; numbers to the right. `titles`, by key, say which columns there are, where a heading
// is no key: names of models may be those of other columns, and numbers, which objects put first.
export function table(rows, { caption = "", cells = {}, titles = null } = {}) {
  if (!rows.length) return notice("Nothing to show.");
  const columns = Object.keys(titles ?? rows[0]);
  const isNumber = (column) => rows.every((row) => row[column] === null || typeof row[column] === "number");
  const written = (column, row) => {
    if (cells[column]) return cells[column](row[column], row);
    return typeof row[column] === "number" ? number(row[column]) : (row[column] ?? "–");
  };
  const right = Object.fromEntries(columns.map((column) => [column, isNumber(column) ? "number" : null]));
  return el(
    "div",
    { class: "scroll", role: "region", tabindex: "0", "aria-label": caption || "Table" },
    el(
      "table",
      {},
      el("thead", {}, el("tr", {}, columns.map((column) => el("th", { scope: "col", class: right[column] }, titles ? titles[column] : column)))),
      el(
        "tbody",
        {},
        rows.map((row) => el("tr", {}, columns.map((column) => el("td", { class: right[column] }, written(column, row))))),
      ),
    ),
  );
}

// A select with a visible label; `act` gets the chosen value.
export function choice(label, options, chosen, act) {
  const select = el(
    "select",
    { on: { change: (event) => act(event.target.value) } },
    options.map(([value, text]) => el("option", { value, selected: value === chosen }, text)),
  );
  return el("label", { class: "choice" }, el("span", {}, label), select);
}

export function fold(title, ...content) {
  return el("details", {}, el("summary", {}, title), ...content);
}

// What a model knows about a name: names near it, and groups it belongs to. `parameters` say where links lead.
export function rankings(found, parameters = {}, marked = new Set()) {
  return found.rankings.map((ranking) =>
    card(
      ranking.title,
      ranking.meaning,
      bars(
        ranking.rows.map((row) => ({ key: row.name, link: nameLink(row.kind, row.name, parameters), value: row.score })),
        { label: ranking.title, marked },
      ),
    ),
  );
}

function spreadLink({ key, noun, rows }, term, parameters) {
  const href = address("groups", { ...parameters, key, number: rows[0].number, term });
  return el("a", { class: "small", href }, `See it over every ${noun}`);
}

export function belongings(found, parameters = {}) {
  return found.belongings.map((one) =>
    card(
      one.title,
      one.meaning,
      found.name === undefined ? null : spreadLink(one, found.name, parameters),
      bars(
        one.rows.map((row) => ({
          key: row.label,
          link: groupLink(one.key, row, one.noun, parameters),
          value: row.weight,
        })),
        { label: one.title },
      ),
    ),
  );
}
