// Where the reader is: everything is in the address, so that links, the back button and bookmarks work.

export const VIEWS = {
  model: "Model",
  names: "Look up",
  groups: "Groups",
  map: "Map",
  layers: "Layers",
  runs: "Runs",
  compare: "Compare",
};

export function read() {
  const [view, query = ""] = location.hash.replace(/^#/, "").split("?");
  return { ...Object.fromEntries(new URLSearchParams(query)), view: Object.hasOwn(VIEWS, view) ? view : "model" };
}

// The address of a view; what belongs to the model as a whole stays, what belongs to a view goes.
export function address(view, parameters = {}) {
  const { model } = read();
  const kept = Object.entries({ model, ...parameters }).filter(([, value]) => value !== undefined && value !== "");
  return `#${view}?${new URLSearchParams(kept)}`;
}

export function go(view, parameters = {}) {
  location.hash = address(view, parameters);
}

// Change the address without a new entry in the history and without drawing the view anew.
export function note(view, parameters = {}) {
  history.replaceState(null, "", address(view, parameters));
}
