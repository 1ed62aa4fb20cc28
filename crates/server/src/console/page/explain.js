// What a search did, from its trace: which parts of the query matched how much, and the programs of the rank phases.

import { el, table } from "./dom.js";
import { count, number, seconds } from "./format.js";

/** What was done for one type of documents. */
export function explained(detail) {
  const parts = detail.matching ? flat(detail.matching, 0) : [];
  const { stages = [], values = [] } = detail.ranking ?? {};
  return el("section", { class: "card", "data-explained": detail.schema },
    el("h2", {}, `What was done for ${detail.schema}`),
    el("h3", {}, "Matching"),
    detail.matching?.error ? el("p", { class: "error" }, detail.matching.error) : table([
      ["part of the query", ({ part, depth }) => indented(part.what, depth), "fixed"],
      ["looked at", ({ part }) => number(part.among), "number"],
      ["found", ({ part }) => number(part.found), "number"],
      ["time", ({ part }) => seconds(part.nanoseconds / 1e9), "number"],
      ["how", ({ part }) => how(part), "fixed"],
    ], parts, "Matching"),
    el("h3", {}, `Ranking by ${detail.profile}`),
    detail.ranking === null && el("p", { class: "quiet" }, "Hits are ordered by attributes: nothing was ranked."),
    stages.map(stage),
    values.filter((value) => value.notes.length > 0).map((value) => el("p", { class: "small" }, el("code", {}, value.name), ": ", value.notes.join("; "))),
  );
}

/** Parts in the order in which they were looked at, with their depth. Queries are as deep as texts may nest. */
function flat(part, depth) {
  return [{ part, depth }, ...(part.parts ?? []).flatMap((inner) => flat(inner, depth + 1))];
}

function indented(text, depth) {
  const space = el("span", { class: "depth" });
  space.style.width = `${depth * 1.2}em`;
  return [space, el("code", {}, text)];
}

function how(part) {
  const indexed = part.indexed_blocks ? `, an index in ${count(part.indexed_blocks, "block", "blocks")}` : "";
  const read = part.looked_at ? `, which left ${count(part.looked_at, "document", "documents")} to look at` : "";
  const searched = part.search_nanoseconds ? `, searched before in ${seconds(part.search_nanoseconds / 1e9)}` : "";
  return `${part.cost}${indexed}${read}${searched}`;
}

function stage(of) {
  return el("details", { "data-stage": of.name },
    el("summary", {}, el("strong", {}, of.name), " ", el("code", {}, of.expression),
      el("span", { class: "quiet" }, ` ${count(of.documents, "document", "documents")}, ${seconds(of.nanoseconds / 1e9)}`)),
    table([
      ["step", (line) => `%${line.step}`],
      ["for each", (line) => line.rate],
      ["type", (line) => el("code", {}, line.type)],
      ["time", (line) => (line.nanoseconds === null ? "" : cost(line)), "number"],
      ["kernel", (line) => line.kernel ?? ""],
      ["what", (line) => el("code", {}, line.text)],
    ], of.program, `Program of ${of.name}`),
  );
}

/** A step that runs for documents is timed for one of them. */
function cost(line) {
  const each = line.rate === "document" ? " each" : "";
  return `${number(line.nanoseconds, 3)} ns${each}`;
}
