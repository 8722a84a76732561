// Topics, anchors, communities, features, phases: a list with sizes, a map between them, and one of them opened.

import { get } from "./api.js";
import { bubbles } from "./chart.js";
import { arrowKeys, el, show } from "./dom.js";
import { number, share } from "./numbers.js";
import { bars, card, choice, facts, heading, nameLink, notice } from "./parts.js";
import { note } from "./state.js";

const NUM_MEMBERS = 30;

export async function drawGroups(place, { model, key, number: chosen }) {
  const sets = await get("groups", { model });
  if (!sets.length) {
    place.append(
      heading("Groups"),
      notice("This model sorts its names into nothing: it has no anchors, topics, communities, features or phases."),
    );
    return;
  }
  const set = sets.find((one) => one.key === key) ?? sets[0];
  const opened = el("div", { class: "opened", "aria-live": "polite" });
  const state = { model, set, relevance: 0.6, number: clamp(Number(chosen ?? 0), set.groups.length), turn: 0 };
  const picture = bubbles(set.groups, (group) => choose(group.number));
  const list = arrowKeys(
    el(
      "ul",
      { class: "grouplist", "aria-label": set.title },
      set.groups.map((group) =>
        el("li", {}, el(
          "button",
          { type: "button", "data-number": group.number, on: { click: () => choose(group.number) } },
          el("span", { class: "label" }, group.label),
          el("span", { class: "about" }, group.title || "–"),
          el("span", { class: "size" }, share(group.size)),
        )),
      ),
    ),
    "button",
  );

  function choose(next) {
    state.number = next;
    note("groups", { model, key: set.key, number: next });
    mark();
    return open(opened, state);
  }

  function mark() {
    for (const button of list.querySelectorAll("button")) {
      button.setAttribute("aria-pressed", String(Number(button.dataset.number) === state.number));
    }
    picture.mark(state.number);
  }

  place.append(
    heading(set.title, `${set.groups.length} of them; size is the ${set.size_meaning}.`),
    sets.length > 1 ? choice("Groups", sets.map((one) => [one.key, one.title]), set.key, (next) => { location.hash = `#groups?${new URLSearchParams({ model, key: next })}`; }) : "",
    el(
      "div",
      { class: "grouppage" },
      el("div", { class: "side" }, card("", "", picture.node, el("p", { class: "small" }, "Like ones lie close together; dots are as large as the groups.")), list),
      opened,
    ),
  );
  mark();
  place.addEventListener("shown", () => {
    const pressed = list.querySelector("[aria-pressed=true]");
    list.scrollTop = pressed.offsetTop - list.offsetTop - list.clientHeight / 3; // the list alone, not the page
  }, { once: true });
  await open(opened, state);
}

async function open(opened, state) {
  const { model, set } = state, turn = (state.turn += 1);
  let found;
  try {
    found = await get("group", { model, key: set.key, number: state.number, n: NUM_MEMBERS, relevance: state.relevance });
  } catch (error) {
    if (turn === state.turn) show(opened, notice(error.message, "error"));
    return;
  }
  if (turn !== state.turn) return; // another group, or another λ, was chosen meanwhile
  const hasFocus = opened.contains(document.activeElement) && document.activeElement.type === "range";
  show(
    opened,
    card(
      `${found.noun} ${found.label}`,
      `${share(found.size)}, ${found.size_meaning}`,
      Object.keys(found.facts).length ? facts(found.facts) : null,
      set.has_shares ? slider(opened, state) : null,
      set.has_shares ? legend(found.noun) : el("p", { class: "small" }, `Bars: ${found.weight_meaning}.`),
      found.members.length
        ? bars(
            found.members.map((member) => ({
              key: member.name,
              link: nameLink(found.kind, member.name),
              value: member.within ?? member.weight,
              back: member.overall ?? undefined,
              text: member.within === null ? number(member.weight) : `${share(member.within)}`,
            })),
            { label: `Members of ${found.noun} ${found.label}` },
          )
        : notice("Nothing belongs to it."),
    ),
  );
  if (hasFocus) opened.querySelector("input[type=range]").focus();
}

// λ as readers of topics know it: 1 lists what has most weight, 0 what is special.
function slider(opened, state) {
  const output = el("output", {}, state.relevance.toFixed(2));
  const input = el("input", {
    type: "range", min: "0", max: "1", step: "0.05", value: state.relevance, "aria-label": "Relevance, lambda",
    on: {
      input: (event) => { output.textContent = Number(event.target.value).toFixed(2); },
      change: (event) => {
        state.relevance = Number(event.target.value);
        open(opened, state);
      },
    },
  });
  return el("label", { class: "slider" }, el("span", {}, "special"), input, el("span", {}, "weighty"), el("span", { class: "lambda" }, "λ ", output));
}

function legend(noun) {
  return el(
    "p",
    { class: "legend small" },
    el("span", { class: "swatch fore" }), ` share in the ${noun} `,
    el("span", { class: "swatch back" }), " share overall",
  );
}

function clamp(wanted, size) {
  return Number.isInteger(wanted) ? Math.min(Math.max(wanted, 0), size - 1) : 0;
}
