// Topics, anchors, communities, features, phases: a list with sizes, a map between them, and one of them opened, or all.

import { get } from "./api.js";
import { bubbles } from "./chart.js";
import { announce, arrowKeys, el, show } from "./dom.js";
import { number, share } from "./numbers.js";
import { bars, card, choice, facts, heading, nameLink, notice } from "./parts.js";
import { go, note } from "./state.js";

const NUM_MEMBERS = 30;
const ALL = -1; // no group is opened, and what tells them apart is listed
const PAUSE = 80; // milliseconds on a name before its circles are asked for: a pointer passes many

export async function drawGroups(place, { model, key, number: chosen, term }) {
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
  const state = { model, set, relevance: 0.6, number: clamp(chosen, set), turn: 0 };
  const picture = bubbles(set.groups, (group) => choose(group.number));
  const circles = spreading(picture, state, term, () => note("groups", { model, key: set.key, number: state.number }));
  state.point = circles.point;
  const list = groupList(set, choose);

  function choose(next) {
    state.number = next;
    note("groups", { model, key: set.key, number: next, term: circles.held() });
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
    sets.length > 1 ? choice("Groups", sets.map((one) => [one.key, one.title]), set.key, (next) => go("groups", { model, key: next })) : "",
    el(
      "div",
      { class: "grouppage" },
      el("div", { class: "side" }, card("", "", picture.node, circles.node, steps(state, choose)), list),
      opened,
    ),
  );
  mark();
  place.addEventListener("shown", () => {
    const pressed = list.querySelector("[aria-pressed=true]");
    if (pressed) list.scrollTop = pressed.offsetTop - list.offsetTop - list.clientHeight / 3; // the list alone, not the page
  }, { once: true });
  await Promise.all([open(opened, state), circles.start()]);
}

function groupList(set, choose) {
  return arrowKeys(
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
}

// One group back, one on, and none, which lists what tells all of them apart.
function steps(state, choose) {
  const size = state.set.groups.length;
  const button = (text, label, act) => el("button", { type: "button", class: "button", "aria-label": label, on: { click: act } }, text);
  return el(
    "p",
    { class: "doors" },
    button("‹", "Previous", () => choose(state.number <= 0 ? size - 1 : state.number - 1)),
    button("›", "Next", () => choose((state.number + 1) % size)),
    state.set.has_shares ? button("All together", "All together", () => choose(ALL)) : null,
  );
}

// The circles as large as the groups, or, for a name that is pointed at or held, as its shares in them.
function spreading(picture, state, term, released) {
  const { model, set } = state, known = new Map(), text = el("span", {}), release = el("button", { type: "button", class: "link", hidden: true }, "Show sizes again");
  let held = term, wanted, timer = 0;
  async function apply(name) {
    wanted = name;
    release.hidden = held === undefined;
    if (name === undefined) {
      picture.resize(null);
      text.textContent = `Like ones lie close together; areas are sizes. Point at a name to see how it divides over the circles.`;
      return;
    }
    try {
      if (!known.has(name)) known.set(name, (await get("spread", { model, key: set.key, name })).shares);
    } catch (error) {
      if (wanted === name) text.textContent = error.message;
      return;
    }
    if (wanted !== name) return; // another one is pointed at meanwhile
    const shares = known.get(name), best = shares.indexOf(Math.max(...shares));
    picture.resize(shares);
    text.textContent = shares[best] > 0 ? `Areas: how “${name}” divides over them; ${share(shares[best])} in ${set.noun} ${set.groups[best].label}. ` : `“${name}” is in none of them. `;
    if (name === held) announce(text.textContent);
  }
  release.addEventListener("click", () => { held = undefined; apply(undefined); released(); });
  return {
    node: el("p", { class: "small steady" }, text, release),
    held: () => held,
    start: () => apply(held),
    point: (name) => { clearTimeout(timer); timer = setTimeout(() => apply(name ?? held), name === undefined ? 0 : PAUSE); },
  };
}

async function open(opened, state) {
  const { model, set } = state, turn = (state.turn += 1), isAll = state.number === ALL;
  let found;
  try {
    found = isAll
      ? await get("salient", { model, key: set.key, n: NUM_MEMBERS })
      : await get("group", { model, key: set.key, number: state.number, n: NUM_MEMBERS, relevance: state.relevance });
  } catch (error) {
    if (turn === state.turn) show(opened, notice(error.message, "error"));
    return;
  }
  if (turn !== state.turn) return; // another group, or another λ, was chosen meanwhile
  const hasFocus = opened.contains(document.activeElement) && document.activeElement.type === "range";
  show(opened, isAll ? allTogether(found, state) : oneGroup(found, opened, state));
  if (hasFocus) opened.querySelector("input[type=range]").focus();
}

function oneGroup(found, opened, state) {
  const hasShares = state.set.has_shares;
  return card(
    `${found.noun} ${found.label}`,
    `${share(found.size)}, ${found.size_meaning}`,
    Object.keys(found.facts).length ? facts(found.facts) : null,
    hasShares ? slider(opened, state) : null,
    hasShares ? legend(found.noun) : el("p", { class: "small" }, `Bars: ${found.weight_meaning}.`),
    found.members.length ? memberBars(found, `Members of ${found.noun} ${found.label}`, state) : notice("Nothing belongs to it."),
  );
}

function allTogether(found, state) {
  return card(`Most salient ${found.kind}`, found.meaning, memberBars(found, `Most salient ${found.kind}`, state));
}

function memberBars(found, label, { point }) {
  return bars(
    found.members.map((member) => ({
      key: member.name,
      link: nameLink(found.kind, member.name),
      value: member.within ?? (found.meaning ? member.overall : member.weight),
      back: found.meaning ? undefined : (member.overall ?? undefined),
      text: found.meaning ? share(member.overall) : member.within === null ? number(member.weight) : share(member.within),
    })),
    { label, point: (row) => point(row?.key) },
  );
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

function clamp(chosen, { groups, has_shares: hasShares }) {
  const wanted = Number(chosen ?? 0);
  return Number.isInteger(wanted) ? Math.min(Math.max(wanted, hasShares ? ALL : 0), groups.length - 1) : 0;
}
