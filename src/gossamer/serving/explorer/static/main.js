// The page as a whole: which model, which view, which colours; each view draws itself into <main>.

import { get } from "./api.js";
import { announce, el, show } from "./dom.js";
import { notice } from "./parts.js";
import { searchBox } from "./search.js";
import { address, go, read, VIEWS } from "./state.js";
import { drawCompare } from "./compare.js";
import { drawGroups } from "./groups.js";
import { drawLayers } from "./layers.js";
import { drawMap } from "./map.js";
import { drawModel } from "./model.js";
import { drawNames } from "./names.js";
import { drawRuns } from "./runs.js";

const DRAW = {
  model: drawModel,
  names: drawNames,
  groups: drawGroups,
  map: drawMap,
  layers: drawLayers,
  runs: drawRuns,
  compare: drawCompare,
};
const SLOW = 1500; // milliseconds after which a reader is told that the answer is being worked out
const view = document.getElementById("view");
const picker = document.getElementById("model");
let models = [];
let drawing = 0; // a slow answer to an old question must not overwrite a new view
let endWaiting = () => {};

function currentModel() {
  const { model } = read();
  return models.some((one) => one.name === model) ? model : (models[0]?.name ?? "");
}

function drawTabs(chosen) {
  show(
    document.getElementById("tabs"),
    Object.entries(VIEWS).map(([key, title]) =>
      el("a", { href: address(key, { model: currentModel() }), "aria-current": key === chosen ? "page" : null }, title),
    ),
  );
}

// What is shown while an answer takes long, such as the first map of a large model, which the server then keeps.
function showWaiting(title) {
  const began = Date.now();
  const tell = () => {
    const seconds = Math.round((Date.now() - began) / 1000);
    show(view, notice(`Working on “${title}” for ${seconds} s. The first look at a large model can take a minute; then it is at hand.`));
  };
  let every;
  const first = setTimeout(() => { tell(); announce(`Working on ${title}`); every = setInterval(tell, 1000); }, SLOW);
  return () => { clearTimeout(first); clearInterval(every); };
}

async function draw() {
  const state = read();
  const model = currentModel();
  const turn = (drawing += 1);
  drawTabs(state.view);
  picker.value = model;
  document.title = `${VIEWS[state.view]} · ${model || "no model"} · gossamer`;
  const place = el("div", { class: "view", "data-view": state.view });
  view.setAttribute("aria-busy", "true");
  endWaiting();
  endWaiting = showWaiting(VIEWS[state.view]);
  try {
    if (state.model && state.model !== model) {
      place.append(notice(`No model called “${state.model}” is served here; this is ${model}.`, "error"));
    }
    await DRAW[state.view](place, { ...state, model, models });
    if (turn === drawing) endWaiting();
    if (turn === drawing) show(view, place);
    // What measures itself, such as a canvas, can do so only in the page.
    if (turn === drawing) place.dispatchEvent(new Event("shown"));
  } catch (error) {
    if (turn !== drawing) return;
    endWaiting();
    show(view, notice(error.message, "error"));
    announce(error.message);
  } finally {
    if (turn === drawing) view.removeAttribute("aria-busy");
  }
}

function startTheme() {
  const button = document.getElementById("theme");
  const names = { auto: "as the system has them", light: "light", dark: "dark" };
  const signs = { auto: "◐", light: "☀", dark: "☾" };
  const apply = (theme) => {
    document.documentElement.dataset.theme = theme;
    button.textContent = signs[theme];
    button.setAttribute("aria-label", `Colours: ${names[theme]}`);
    window.dispatchEvent(new Event("recolour"));
  };
  let theme = localStorage.getItem("gossamer-theme") ?? "auto";
  if (!(theme in names)) theme = "auto";
  apply(theme);
  button.addEventListener("click", () => {
    const order = Object.keys(names);
    theme = order[(order.indexOf(theme) + 1) % order.length];
    localStorage.setItem("gossamer-theme", theme);
    apply(theme);
    announce(`Colours: ${names[theme]}`);
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => window.dispatchEvent(new Event("recolour")));
}

function startKeys(input) {
  document.addEventListener("keydown", (event) => {
    const isTyping = event.target.closest?.("input, select, textarea");
    if (event.key === "/" && !isTyping && !event.ctrlKey && !event.metaKey && !event.altKey) {
      event.preventDefault();
      input.focus();
      input.select();
    } else if (event.key === "Escape" && isTyping) {
      event.target.blur();
    }
  });
}

async function start() {
  try {
    models = await get("models");
  } catch (error) {
    show(view, notice(error.message, "error"));
    return;
  }
  show(picker, models.map((one) => el("option", { value: one.name }, one.name)));
  picker.disabled = models.length === 0;
  if (!models.length) {
    show(view, notice("No model is served here. Name the folder of one: gossamer serve DIR."));
    return;
  }
  await draw();
}

const search = searchBox({
  label: "Search names",
  placeholder: "Search a name  ( / )",
  model: currentModel,
  choose: (hit) => {
    const { view: here, projection, axes } = read();
    // On the map a name is shown where it lies; anywhere else it is opened.
    if (here === "map") go("map", { model: currentModel(), projection, axes, ...hit });
    else go("names", { model: currentModel(), ...hit });
  },
});
document.getElementById("search").append(search.node);
picker.addEventListener("change", () => {
  const { view: here } = read();
  go(here, { model: picker.value });
});
window.addEventListener("hashchange", draw);
startTheme();
startKeys(search.input);
start();
