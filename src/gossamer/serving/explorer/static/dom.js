// Elements without markup: every text from outside goes in as text, so no name can become an element.

const SVG = "http://www.w3.org/2000/svg";

function fill(node, properties, children) {
  for (const [key, value] of Object.entries(properties)) {
    if (value === null || value === undefined || value === false) continue;
    if (key === "on") for (const [event, act] of Object.entries(value)) node.addEventListener(event, act);
    else if (key === "class") node.setAttribute("class", value);
    // Styles by the object model, which a policy without inline styles allows.
    else if (key === "style") for (const [name, setting] of Object.entries(value)) node.style.setProperty(name, setting);
    else node.setAttribute(key, value === true ? "" : String(value));
  }
  append(node, children);
  return node;
}

function append(node, children) {
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    node.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
}

export function el(tag, properties = {}, ...children) {
  return fill(document.createElement(tag), properties, children);
}

export function svg(tag, properties = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), properties, children);
}

export function show(node, ...children) {
  node.replaceChildren();
  append(node, children);
}

// A colour of the style sheet, for a canvas, which does not read style sheets.
export function colour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

// Up, Down, Home and End move between the controls of a list.
export function arrowKeys(container, selector) {
  container.addEventListener("keydown", (event) => {
    const controls = [...container.querySelectorAll(selector)];
    const at = controls.indexOf(document.activeElement);
    const next = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: controls.length - 1 }[event.key];
    if (at < 0 || next === undefined || !controls[next]) return;
    event.preventDefault();
    controls[next].focus();
  });
  return container;
}

// Said aloud by screen readers, seen by nobody.
export function announce(text) {
  document.getElementById("status").textContent = text;
}
