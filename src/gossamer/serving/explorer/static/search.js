// A box that finds names while one types: a combobox with a list, for mouse, touch, keyboard and screen readers.

import { get } from "./api.js";
import { announce, el, show } from "./dom.js";

let boxes = 0;
const PAUSE = 120; // milliseconds after a letter before the server is asked

// `model()` says which model to search in; `choose(hit)` is called with { kind, name }.
export function searchBox({ label, model, choose, placeholder = label }) {
  const id = `found-${(boxes += 1)}`;
  const list = el("ul", { id, role: "listbox", class: "found", "aria-label": "Names found", hidden: true });
  const input = el("input", {
    type: "search",
    role: "combobox",
    placeholder,
    "aria-label": label,
    "aria-controls": id,
    "aria-expanded": "false",
    "aria-autocomplete": "list",
    autocomplete: "off",
    spellcheck: "false",
    maxlength: "200",
    enterkeyhint: "search",
  });
  let hits = [];
  let answered = ""; // the question that `hits` answer: what is typed, and in which model
  let chosen = -1;
  let asked = null;
  let timer = 0;

  const question = () => JSON.stringify([model(), input.value.trim()]);

  // An answer that is still on its way must not open the list again.
  function drop() {
    clearTimeout(timer);
    asked?.abort();
  }

  function close() {
    list.hidden = true;
    chosen = -1;
    input.setAttribute("aria-expanded", "false");
    input.removeAttribute("aria-activedescendant");
  }

  function open(...rows) {
    show(list, rows);
    list.hidden = false;
    input.setAttribute("aria-expanded", "true");
  }

  function message(text, kind = "") {
    hits = [];
    open(el("li", { class: `message ${kind}`, role: "option", "aria-disabled": "true", "aria-selected": "false" }, text));
    announce(text);
  }

  function mark(next) {
    chosen = next;
    [...list.children].forEach((row, place) => row.setAttribute("aria-selected", String(place === chosen)));
    if (chosen < 0) return input.removeAttribute("aria-activedescendant");
    input.setAttribute("aria-activedescendant", `${id}-${chosen}`);
    return list.children[chosen].scrollIntoView({ block: "nearest" });
  }

  function take(hit) {
    drop();
    close();
    input.value = hit.name;
    choose(hit);
  }

  async function ask() {
    const wanted = input.value.trim(), meant = question();
    drop();
    if (!wanted) return close();
    asked = new AbortController();
    try {
      const found = await get("search", { model: model(), q: wanted, n: 12 }, { signal: asked.signal });
      if (!found.hits.length) return message(`No name has “${wanted}” in it.`);
      hits = found.hits;
      answered = meant;
      open(
        hits.map((hit, place) =>
          el(
            "li",
            // pointerdown comes before the box loses focus, which would close the list under the finger
            { id: `${id}-${place}`, role: "option", "aria-selected": "false", on: { pointerdown: (event) => { event.preventDefault(); take(hit); } } },
            el("span", { class: "what" }, hit.name),
            el("span", { class: "kind" }, hit.kind),
          ),
        ),
      );
      chosen = -1;
      announce(`${found.total} names found.`);
    } catch (error) {
      if (error.name !== "AbortError") message(error.message, "error");
    }
    return undefined;
  }

  input.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(ask, PAUSE);
  });
  input.addEventListener("focus", () => {
    if (!hits.length || answered !== question()) return;
    list.hidden = false;
    input.setAttribute("aria-expanded", "true");
  });
  input.addEventListener("blur", () => {
    drop();
    close();
  });
  input.addEventListener("keydown", async (event) => {
    if (event.key === "Escape") {
      if (list.hidden) input.value = "";
      else event.stopPropagation();
      drop();
      close();
    } else if (event.key === "Enter") {
      event.preventDefault();
      if (!input.value.trim()) return message("Type a part of a name first.");
      if (list.hidden || answered !== question()) await ask();
      if (answered === question() && hits.length) take(hits[Math.max(0, chosen)]);
    } else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      if (list.hidden || answered !== question()) await ask();
      const from = chosen < 0 && event.key === "ArrowUp" ? 0 : chosen;
      if (hits.length) mark((from + (event.key === "ArrowDown" ? 1 : -1) + hits.length) % hits.length);
    }
    return undefined;
  });
  return { input, node: el("div", { class: "combobox" }, input, list) };
}
