// Numbers as people read them.

/** A number with at most so many digits that matter. */
export function number(value, digits = 6) {
  if (typeof value !== "number") return String(value);
  if (!Number.isFinite(value)) return String(value);
  if (Number.isInteger(value) && Math.abs(value) < 1e15) return value.toLocaleString("en");
  return Number(value.toPrecision(digits)).toString();
}

/** Bytes in units of 1024. */
export function bytes(value) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let rest = value;
  let unit = 0;
  while (Math.abs(rest) >= 1024 && unit < units.length - 1) {
    rest /= 1024;
    unit += 1;
  }
  return `${unit === 0 ? rest : rest.toFixed(rest < 10 ? 2 : 1)} ${units[unit]}`;
}

/** A time in seconds, in the unit that fits. */
export function seconds(value) {
  if (!Number.isFinite(value)) return "-";
  if (value === 0) return "0";
  for (const [unit, size] of [["s", 1], ["ms", 1e-3], ["us", 1e-6]]) {
    if (value >= size || unit === "us") return `${Number((value / size).toPrecision(3))} ${unit}`;
  }
  return "-";
}

/** How long ago, in seconds, in words. */
export function age(value) {
  for (const [unit, size] of [["d", 86400], ["h", 3600], ["min", 60]]) {
    if (value >= size) return `${(value / size).toFixed(1)} ${unit}`;
  }
  return `${value.toFixed(1)} s`;
}

/** A date of milliseconds since 1970. */
export function date(millis) {
  return new Date(millis).toLocaleString();
}

/** One or several of something. */
export function count(value, one, many) {
  return `${number(value)} ${value === 1 ? one : many}`;
}
