// One stored array: its numbers in a picture, a corner of them, and the whole to take away.

import { get } from "./api.js";
import { el, svg } from "./dom.js";
import { bytes, count, number, share } from "./numbers.js";
import { facts, fold, notice, table } from "./parts.js";

export async function tensorFacts(model, layer, weight) {
  let found;
  try {
    found = await get("tensor", { model, layer, weight });
  } catch (error) {
    return notice(error.message, "error");
  }
  const file = `/explore/tensor.npy?${new URLSearchParams({ model, layer, weight })}`;
  const name = `${layer}.${weight}.npy`.replace(/[^\w.-]+/g, "_");
  return el(
    "div",
    { class: "tensor" },
    el("h4", {}, layer === weight ? weight : `${layer}.${weight}`),
    histogram(found),
    facts({
      shape: found.shape.join(" × ") || "one number",
      type: found.dtype,
      size: `${count(found.values)} values, ${bytes(found.bytes)}`,
      least: found.low, most: found.high, mean: found.mean, "standard deviation": found.std,
      zeros: found.values ? share(found.zeros / found.values) : "–",
      ...(found.not_finite ? { "not finite": found.not_finite } : {}),
    }),
    found.corner.length === 0 ? null : fold("First values", table(found.corner.map((row) => Object.fromEntries(row.map((value, place) => [String(place), value]))), { caption: `First values of ${weight}` })),
    found.can_download ? el("a", { class: "button", href: file, download: name }, "Save as .npy") : el("p", { class: "small" }, "Too large to be saved from here: it is in model.safetensors of the artifact."),
  );
}

function histogram({ counts, low, high }) {
  if (!counts.length) return "";
  const width = 300, height = 90, most = Math.max(...counts), step = width / counts.length;
  return svg(
    "svg",
    { class: "histogram", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `Histogram from ${number(low)} to ${number(high)}` },
    counts.map((size, place) => svg("rect", { x: (place * step + 0.5).toFixed(1), width: (step - 1).toFixed(1), y: (height - 16 - (height - 18) * (size / most)).toFixed(1), height: ((height - 18) * (size / most)).toFixed(1) })),
    svg("text", { x: 0, y: height - 3 }, number(low)),
    svg("text", { x: width, y: height - 3, "text-anchor": "end" }, number(high)),
  );
}
