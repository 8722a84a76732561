// Numbers as the reports write them.

export function count(value) {
  return Math.round(value).toLocaleString("en").replace("-", "−");
}

export function bytes(value) {
  let size = value;
  for (const unit of ["B", "KiB", "MiB", "GiB"]) {
    if (Math.abs(size) < 1024) return unit === "B" ? `${Math.round(size)} B` : `${size.toFixed(1)} ${unit}`;
    size /= 1024;
  }
  return `${size.toFixed(1)} TiB`;
}

export function share(value) {
  const percent = 100 * value;
  if (percent !== 0 && Math.abs(percent) < 0.1) return `${Number(percent.toPrecision(2))} %`;
  return percent >= 10 ? `${percent.toFixed(1)} %` : `${percent.toFixed(2)} %`;
}

export function number(value) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  if (Number.isInteger(value) && Math.abs(value) < 1e15) return count(value);
  const size = Math.abs(value);
  const written = size !== 0 && (size < 0.001 || size >= 1e15)
    ? Number(value.toPrecision(3)).toString()
    : value.toLocaleString("en", { maximumFractionDigits: Math.max(0, 3 - Math.floor(Math.log10(size || 1))) });
  return written.replace("-", "−");
}

// A score beside a bar: three decimals, so that a column of them lines up.
export function score(value) {
  return (Math.abs(value) < 100 ? value.toFixed(3) : number(value)).replace("-", "−");
}

export function seconds(value) {
  if (value < 1) return `${(value * 1000).toFixed(0)} ms`;
  if (value < 59.95) return `${value.toFixed(1)} s`;
  const whole = Math.round(value); // before it is divided: 119.7 seconds are 2 min 0 s, not 1 min 60 s
  return `${Math.floor(whole / 60)} min ${whole % 60} s`;
}

// How a cost of a run is written.
export function cost(name, value) {
  if (name === "seconds") return seconds(value);
  return name.endsWith("bytes") ? bytes(value) : number(value);
}
