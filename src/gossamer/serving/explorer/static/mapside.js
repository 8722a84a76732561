// Beside a map: finding names on it, the neighbours of one, and leaving all others out.

import { get } from "./api.js";
import { announce, el, show } from "./dom.js";
import { count } from "./numbers.js";
import { belongings, choice, nameLink, notice, rankings } from "./parts.js";
import { note } from "./state.js";

const MOST_MARKED = 500; // more dots hide each other
const COUNTS = ["12", "25", "50", "100"];

// `here` is the address of the map, `about` what is said of it as long as nothing is chosen.
export function mapSide(here, points, about) {
  const body = el("div", { class: "mapside" }, about);
  const state = { here, points, about, body, cloud: null, measure: points.measures[0], n: COUNTS[0], found: [], turn: 0 };
  const finder = find(state);
  const select = (point, isNew = true) => choosePoint(state, point, isNew);
  const start = (cloud) => {
    state.cloud = cloud;
    if (here.name === undefined) return;
    const point = points.names.indexOf(here.name);
    if (point < 0) show(body, notice(`“${here.name}” is not on this map.`, "error"));
    else select(point, false);
  };
  state.select = select;
  state.told = finder.told;
  return { node: el("div", { class: "mapcolumn" }, finder.node, body), select, start };
}

// A part of a name, or a regular expression between slashes.
export function matcher(text) {
  const [, pattern, flags] = text.match(/^\/(.+)\/([iu]*)$/) ?? [];
  if (pattern === undefined) {
    const wanted = text.toLowerCase();
    return (name) => name.toLowerCase().includes(wanted);
  }
  const expression = new RegExp(pattern, flags);
  return (name) => expression.test(name);
}

function find(state) {
  const text = el("span", { role: "status" });
  const only = el("button", { type: "button", class: "button", hidden: true }, "Only these");
  const back = el("button", { type: "button", class: "button", hidden: true }, "Bring all back");
  const input = el("input", { type: "search", "aria-label": "Find on this map", placeholder: "Find: a part, or /^os\\..*path/", maxlength: "200", spellcheck: "false", autocomplete: "off" });
  const told = () => {
    const { cloud, found } = state;
    only.hidden = !found.length || (cloud.shown !== null && cloud.count === found.length);
    back.hidden = cloud.shown === null;
  };
  const look = () => {
    const { cloud, points } = state, wanted = input.value.trim();
    cloud.selected = -1;
    state.found = [];
    text.textContent = "";
    if (wanted) {
      try {
        const fits = matcher(wanted);
        points.names.forEach((name, point) => { if (fits(name)) state.found.push(point); });
        const marked = state.found.length > MOST_MARKED ? `, ${MOST_MARKED} of them marked` : "";
        text.textContent = state.found.length ? `${count(state.found.length)} found${marked}` : `No name here fits “${wanted}”.`;
      } catch (error) {
        text.textContent = `Not a regular expression: ${error.message}`;
      }
    }
    cloud.marked = state.found.slice(0, MOST_MARKED);
    cloud.redraw();
    told();
  };
  input.addEventListener("input", look);
  input.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !input.value) return;
    event.stopPropagation(); // first empty, then let go
    input.value = "";
    look();
  });
  only.addEventListener("click", () => {
    state.cloud.isolate(state.found);
    announce(`${count(state.found.length)} of ${count(state.points.names.length)} names are shown.`);
    told();
    back.focus();
  });
  back.addEventListener("click", () => {
    state.cloud.isolate(null);
    told();
    input.focus();
  });
  return { node: el("div", { class: "find" }, input, el("p", { class: "small" }, text), el("p", { class: "doors" }, only, back)), told };
}

// Mark a point, ask for its neighbours, and mark those that are on the map.
async function choosePoint(state, point, isNew) {
  const { cloud, body, points, here, about } = state, turn = (state.turn += 1);
  cloud.selected = point;
  cloud.marked = [];
  state.found = [];
  cloud.redraw();
  state.told();
  if (point < 0) {
    note("map", { ...here, name: undefined });
    return show(body, about);
  }
  const { model, kind } = here, name = points.names[point];
  note("map", { ...here, name });
  announce(name);
  show(body, el("h3", {}, nameLink(kind, name)), el("p", { class: "small" }, "Asking…"));
  try {
    const [near, found] = await Promise.all([
      get("neighbours", { model, kind, name, n: state.n, measure: state.measure }),
      get("about", { model, kind, name, n: 12 }),
    ]);
    if (turn !== state.turn) return undefined;
    const places = new Map(points.names.map((one, place) => [one, place]));
    cloud.marked = near.rows.map((row) => places.get(row.name)).filter((one) => one !== undefined);
    state.found = [point, ...cloud.marked];
    if (!isNew) cloud.centre(point, cloud.view.span / 3);
    cloud.redraw();
    state.told();
    show(body, el("h3", {}, nameLink(kind, name)), asking(state, point), rankings({ rankings: [near] }), belongings({ belongings: found.belongings.slice(0, 1) }));
  } catch (error) {
    if (turn === state.turn) show(body, notice(error.message, "error"));
  }
  return undefined;
}

// By which measure, and how many.
function asking(state, point) {
  const again = (changes) => { Object.assign(state, changes); return choosePoint(state, point, true); };
  return el(
    "div",
    { class: "choices tight" },
    choice("Nearest by", state.points.measures.map((one) => [one, one]), state.measure, (measure) => again({ measure })),
    choice("How many", COUNTS.map((one) => [one, one]), state.n, (n) => again({ n })),
  );
}
