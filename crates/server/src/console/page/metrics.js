// The metrics page read as numbers, and what happened between two readings of it.

import { plain } from "./api.js";

const LINE = /^([A-Za-z_:][A-Za-z0-9_:]*)(?:\{(.*)\})? (\S+)$/;
const LABEL = /([A-Za-z_][A-Za-z0-9_]*)="((?:[^"\\]|\\.)*)"/g;

/** The samples by the names of their metrics: `{labels, value}` each. */
export function parse(text) {
  const all = new Map();
  for (const line of text.split("\n")) {
    const found = line.startsWith("#") ? null : LINE.exec(line);
    if (!found) continue;
    const labels = {};
    for (const [, name, value] of (found[2] ?? "").matchAll(LABEL)) {
      labels[name] = value.replace(/\\(.)/g, (_, c) => (c === "n" ? "\n" : c));
    }
    if (!all.has(found[1])) all.set(found[1], []);
    all.get(found[1]).push({ labels, value: Number(found[3]) });
  }
  return all;
}

/** One reading: the metrics, and when they were read in seconds. */
export async function reading() {
  const page = parse(await plain("metrics"));
  return { at: performance.now() / 1000, page };
}

/** The sum of the samples of a metric whose labels pass; null where there is none. */
export function sum(page, name, passes = () => true) {
  const samples = (page.get(name) ?? []).filter(({ labels }) => passes(labels));
  return samples.length === 0 ? null : samples.reduce((all, { value }) => all + value, 0);
}

/** How much a counter has grown from one reading to the next; null where nobody knows, as when the server began anew. */
export function growth(before, now, name, passes) {
  const [from, to] = [sum(before.page, name, passes) ?? 0, sum(now.page, name, passes)];
  return to === null || to < from ? null : to - from;
}

/** What came to each bucket of a histogram between two readings: `[upper bound, count]` in the order of the bounds. */
function buckets(before, now, name, passes) {
  const growing = new Map();
  for (const [sign, { page }] of [[1, now], [-1, before]]) {
    for (const { labels, value } of page.get(`${name}_bucket`) ?? []) {
      if (!passes(labels)) continue;
      const bound = labels.le === "+Inf" ? Infinity : Number(labels.le);
      growing.set(bound, (growing.get(bound) ?? 0) + sign * value);
    }
  }
  const sorted = [...growing].sort(([a], [b]) => a - b);
  return sorted.map(([bound, count], index) => [bound, count - (index > 0 ? sorted[index - 1][1] : 0)]);
}

/** A quantile of what came between two readings, straight lines within its bucket; null if nothing came. */
export function quantile(before, now, name, part, passes) {
  const list = buckets(before, now, name, passes);
  const total = list.reduce((all, [, count]) => all + count, 0);
  if (!(total > 0) || list.some(([, count]) => count < 0)) return null;
  let seen = 0;
  let low = 0;
  for (const [bound, count] of list) {
    if (count > 0 && seen + count >= part * total) {
      return bound === Infinity ? low : low + ((bound - low) * (part * total - seen)) / count;
    }
    seen += count;
    low = bound;
  }
  return low;
}
