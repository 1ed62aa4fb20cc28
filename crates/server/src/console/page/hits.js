// Hits, with the features that made their scores.

import { bars, el, table } from "./dom.js";
import { number } from "./format.js";

/** Fields of a hit that are lists of features. */
const FEATURES = ["matchfeatures", "summaryfeatures", "rankfeatures"];

/** The list of hits; each opens to its fields and features. */
export function hits(list) {
  if (list.length === 0) return null;
  const columns = shown(list);
  const rows = list.map((hit, index) => ({ hit, index }));
  return el("section", { class: "card" },
    el("h2", {}, "Hits"),
    table([
      ["#", ({ index }) => number(index + 1), "number"],
      ["relevance", ({ hit }) => number(hit.relevance), "number"],
      ...columns.map((name) => [name, ({ hit }) => cell(hit.fields?.[name])]),
      ["id", ({ hit }) => el("code", {}, hit.id), "fixed"],
    ], rows, "Hits", "even"),
    el("h3", {}, "Each hit"),
    rows.map(({ hit, index }) => single(hit, index)),
  );
}

/** The fields with short values that the hits have: at most four, for all to fit beside each other. */
function shown(list) {
  const names = new Set(list.flatMap((hit) => Object.keys(hit.fields ?? {})));
  const isShort = (name) => list.every((hit) => {
    const value = hit.fields?.[name];
    return value === undefined || typeof value === "number" || typeof value === "boolean" || (typeof value === "string" && value.length <= 80);
  });
  const left = ["documentid", "sddocname", ...FEATURES];
  return [...names].filter((name) => !left.includes(name) && isShort(name)).slice(0, 4);
}

function cell(value) {
  // Whole numbers may be years or ids: no signs within them.
  return typeof value === "number" && !Number.isInteger(value) ? number(value) : String(value ?? "");
}

function single(hit, index) {
  const features = FEATURES.filter((name) => hit.fields?.[name]);
  const rest = Object.entries(hit.fields ?? {}).filter(([name]) => !FEATURES.includes(name));
  return el("details", { "data-hit": hit.id, open: index === 0 && features.length > 0 },
    el("summary", {}, `${index + 1}. `, el("code", {}, hit.id), ` ${number(hit.relevance)}`),
    features.map((name) => [el("h3", {}, TITLES[name]), breakdown(hit.fields[name])]),
    features.length === 0 && el("p", { class: "quiet small" }, "This rank profile has no match-features and no summary-features, so that nothing tells what its scores are made of."),
    rest.length > 0 && [el("h3", {}, "Fields"), el("pre", {}, rest.map(([name, value]) => `${name}: ${JSON.stringify(value)}`).join("\n"))],
  );
}

const TITLES = { matchfeatures: "Match features", summaryfeatures: "Summary features", rankfeatures: "Rank features" };

/** Numbers as bars, largest first; tensors as texts. */
function breakdown(features) {
  const all = Object.entries(features).filter(([name]) => name !== "vespa.summaryFeatures.cached");
  const numbers = all.filter(([, value]) => typeof value === "number").sort((a, b) => Math.abs(b[1]) - Math.abs(a[1]));
  const others = all.filter(([, value]) => typeof value !== "number");
  return [
    bars(numbers.map(([name, value]) => ({ name: el("code", {}, name), value, text: number(value) }))),
    others.map(([name, value]) => el("pre", {}, `${name}: ${JSON.stringify(value)}`)),
  ];
}
