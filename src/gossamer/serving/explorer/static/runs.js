// Size against quality of all runs: one point per row of an experiment, and the front that nothing beats.

import { get } from "./api.js";
import { extent, sign, signNode, ticks } from "./chart.js";
import { el, svg } from "./dom.js";
import { cost, number } from "./numbers.js";
import { card, choice, heading, notice, table } from "./parts.js";
import { go } from "./state.js";

const TITLES = { values: "numbers stored", bytes: "bytes stored", seconds: "time to fit", peak_rss_bytes: "peak memory" };

export async function drawRuns(place, { model, experiment, x, y }) {
  const experiments = await get("runs");
  place.append(heading("Runs", "Every row of an experiment by what it costs and how good it is, the mean over its seeds."));
  if (!experiments.length) {
    place.append(notice("No result records were found: start the server beside a folder “results”, or name one."));
    return;
  }
  // Experiments that measured sizes say most here, so one of them is first.
  const chosen = experiments.find((one) => one.name === experiment) ?? experiments.find((one) => one.costs[0] === "bytes" || one.costs[0] === "values") ?? experiments[0];
  if (experiment && chosen.name !== experiment) place.append(notice(`There are no runs of “${experiment}”.`, "error"));
  const costName = chosen.costs.includes(x) ? x : chosen.costs[0];
  const metric = chosen.metrics.find((one) => one.name === y) ?? chosen.metrics[0];
  const change = (parameters) => go("runs", { model, experiment: chosen.name, x: costName, y: metric?.name, ...parameters });
  place.append(
    el(
      "div",
      { class: "choices" },
      choice("Experiment", experiments.map((one) => [one.name, `${one.name} (${one.rows})`]), chosen.name, (next) => go("runs", { model, experiment: next })),
      choice("Quality", chosen.metrics.map((one) => [one.name, `${one.name}, ${one.lower_is_better ? "lower" : "higher"} is better`]), metric?.name, (next) => change({ y: next })),
      choice("Cost", chosen.costs.map((one) => [one, TITLES[one] ?? one]), costName, (next) => change({ x: next })),
    ),
  );
  if (!metric) {
    place.append(notice("The runs of this experiment have no metric of which more or less is better."));
    return;
  }
  const trade = await get("trade", { experiment: chosen.name, x: costName, y: metric.name });
  const methods = [...new Set(trade.points.map((point) => point.method))];
  const chart = scatter(trade, methods);
  place.append(
    card("", "", chart, key(methods), trade.left_out ? el("p", { class: "small" }, `${trade.left_out} rows without both numbers are left out.`) : null),
    card("Rows", "Those on the front first: nothing is both cheaper and better.", rows(trade)),
  );
}

function scatter(trade, methods) {
  // On a phone the drawing is as wide as the page, so that its text stays as large as all other text.
  const isNarrow = matchMedia("(max-width: 44rem)").matches;
  const [width, height] = isNarrow ? [350, 330] : [720, 420], left = isNarrow ? 44 : 64, bottom = 48, top = 20, right = isNarrow ? 12 : 20;
  const costs = trade.points.map((point) => point.x);
  const isLog = Math.min(...costs) > 0 && Math.max(...costs) / Math.min(...costs) > 8;
  const [lowX, highX] = padded(extent(costs), isLog), [lowY, highY] = padded(extent(trade.points.map((point) => point.y)), false);
  const warp = isLog ? Math.log : (value) => value;
  const x = (value) => left + ((width - left - right) * (warp(value) - warp(lowX))) / (warp(highX) - warp(lowX) || 1);
  const y = (value) => height - bottom - ((height - bottom - top) * (value - lowY)) / (highY - lowY || 1);
  const front = trade.points.filter((point) => point.is_best).sort((one, other) => one.x - other.x);
  const steps = front.map((point, place) => `${place ? `H${x(point.x).toFixed(1)}V` : `M${x(point.x).toFixed(1)} `}${y(point.y).toFixed(1)}`).join("");
  const better = trade.y.lower_is_better ? "lower" : "higher";
  return svg(
    "svg",
    { class: "scatter", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `${trade.points.length} rows by ${trade.x} and ${trade.y.name}; ${front.length} on the front. The table below has the numbers.` },
    ticks(lowY, highY, false).map((value) => [svg("path", { class: "grid", d: `M${left} ${y(value)}H${width - right}` }), svg("text", { x: left - 8, y: y(value), dy: "0.32em", "text-anchor": "end" }, number(value))]),
    ticks(lowX, highX, isLog, isNarrow ? 3 : 6).map((value) => [svg("path", { class: "tick", d: `M${x(value)} ${height - bottom}v5` }), svg("text", { x: x(value), y: height - bottom + 20, "text-anchor": "middle" }, short(trade.x, value))]),
    svg("text", { x: (left + width - right) / 2, y: height - 6, "text-anchor": "middle", class: "axisname" }, `${TITLES[trade.x] ?? trade.x}${isLog ? ", logarithmic" : ""}`),
    svg("text", { x: isNarrow ? 4 : left, y: top - 6, class: "axisname" }, `${trade.y.name}, ${better} is better`),
    svg("path", { class: "front", d: steps }),
    trade.points.map((point) => {
      const { series, shape } = sign(methods.indexOf(point.method));
      return svg(
        "path",
        { class: `point series-${series}${point.is_best ? " best" : ""}`, d: shape, transform: `translate(${x(point.x).toFixed(1)} ${y(point.y).toFixed(1)})` },
        svg("title", {}, `${point.row} (${point.method}): ${cost(trade.x, point.x)}, ${trade.y.name} ${number(point.y)}, ${point.seeds} seeds`),
      );
    }),
  );
}

function short(name, value) {
  if (name === "values" && value >= 1000) return new Intl.NumberFormat("en", { notation: "compact" }).format(value);
  return cost(name, value);
}

function padded([low, high], isLog) {
  if (isLog) return [low / 1.25, high * 1.25];
  const room = (high - low || Math.abs(high) || 1) * 0.06;
  return [low - room, high + room];
}

function key(methods) {
  return el(
    "ul",
    { class: "key" },
    methods.map((method, place) => el("li", {}, signNode(place), method)),
    el("li", {}, el("span", { class: "swatch line" }), "front"),
  );
}

function rows(trade) {
  const better = trade.y.lower_is_better ? 1 : -1;
  const ordered = [...trade.points].sort((one, other) => other.is_best - one.is_best || better * (one.y - other.y));
  return table(
    ordered.map((point) => ({ row: point.row, method: point.method, [trade.x]: point.x, [trade.y.name]: point.y, seeds: point.seeds, front: point.is_best ? "✓" : "" })),
    { caption: "Rows of the experiment", cells: { [trade.x]: (value) => cost(trade.x, value) } },
  );
}
