// Where the time of a search went, as bars.

import { bars, el } from "./dom.js";
import { count, seconds } from "./format.js";

/** Stages whose names do not say what they are. */
const TITLES = { shared: "what several phases share" };

/** The times of a search in seconds: those of the server, `took` in the browser, and those of the phases. */
export function timing(timing, took, details) {
  const rows = [{ name: "the whole request, as this page saw it, with explaining", value: took }];
  if (timing) {
    rows.push({ name: "in the server", value: timing.searchtime });
    rows.push({ name: "matching and ranking", value: timing.querytime });
    rows.push({ name: "fields of hits", value: timing.summaryfetchtime });
  }
  const of = (row) => ({ ...row, text: seconds(row.value) });
  return el("section", { class: "card", id: "timing" },
    el("h2", {}, "Time"),
    bars(rows.map(of)),
    details.map((detail) => {
      const phases = phasesOf(detail);
      return phases.length > 0 && [
        el("h3", {}, `Phases of ${detail.schema}`),
        bars(phases.map(of)),
        el("p", { class: "quiet small" }, "Phases are timed while they are explained, one behind the other; what models and features take is within their phases too."),
      ];
    }),
  );
}

function phasesOf(detail) {
  const second = (nanoseconds) => nanoseconds / 1e9;
  const rows = [];
  if (detail.matching?.nanoseconds !== undefined) rows.push({ name: "matching", value: second(detail.matching.nanoseconds) });
  const phases = new Map();
  for (const { name, documents, nanoseconds } of detail.ranking?.stages ?? []) {
    const phase = phases.get(name) ?? { documents: 0, nanoseconds: 0 };
    phases.set(name, { documents: Math.max(phase.documents, documents), nanoseconds: phase.nanoseconds + nanoseconds });
  }
  for (const [name, { documents, nanoseconds }] of phases) {
    rows.push({ name: `${TITLES[name] ?? name}, ${count(documents, "document", "documents")}`, value: second(nanoseconds), kind: "second" });
  }
  for (const value of detail.ranking?.values ?? []) {
    rows.push({ name: [el("code", {}, value.name), ` ${count(value.documents, "document", "documents")}`], value: second(value.nanoseconds) });
  }
  return rows;
}
