// The application that is served: its schemas, fields, rank profiles and documents.

import { application } from "./api.js";
import { el, facts, table, tags } from "./dom.js";
import { bytes, count, date, number } from "./format.js";

export async function overview(place) {
  const told = await application();
  const of = told.application;
  if (!of) {
    const text = told.deploys
      ? "No application is deployed yet: stead deploy my-app/ brings one."
      : "This server serves models and no application.";
    place.append(el("p", { class: "notice" }, text, " ", el("a", { href: "#models" }, "Its models")));
    return;
  }
  const documents = of.schemas.reduce((sum, schema) => sum + (schema.documents ?? 0), 0);
  place.append(
    el("section", { class: "card" }, facts([
      ["Generation", number(of.generation)],
      ["Deployed", date(of.prepared)],
      ["Schemas", number(of.schemas.length)],
      ["Documents", number(documents)],
      ["Checksum", el("code", {}, of.checksum)],
    ]),
    of.embedders.length > 0 && [el("h3", {}, "Embedders"), tags(of.embedders)],
    of.models.length > 0 && [
      el("h3", {}, "Files of models"),
      table([["size", (m) => bytes(m.bytes), "number"], ["file", (m) => el("code", {}, m.path)]], of.models, "Files of models"),
    ]),
    ...of.schemas.map(card),
  );
}

function card(schema) {
  const stored = schema.documents === null ? "not stored" : count(schema.documents, "document", "documents");
  const size = schema.bytes === null ? "" : `, ${bytes(schema.bytes)} in memory`;
  return el("section", { class: "card", "data-schema": schema.name },
    el("h2", {}, schema.name),
    el("p", {}, stored, size, schema.cluster && el("span", { class: "quiet" }, `, content cluster ${schema.cluster}`)),
    el("h3", {}, "Fields"),
    schema.fields.length === 0 ? el("p", { class: "quiet" }, "none") : table([
      ["name", (f) => el("code", {}, f.name)],
      ["type", (f) => el("code", {}, f.type), "fixed"],
      ["used as", (f) => tags(f.uses)],
      ...(schema.fields.some((f) => f.details.length > 0) ? [["with", (f) => tags(f.details)]] : []),
    ], schema.fields, `Fields of ${schema.name}`),
    schema.imports.length > 0 && [
      el("h3", {}, "Imported fields"),
      table([
        ["name", (f) => el("code", {}, f.name)],
        ["from", (f) => el("code", {}, f.from)],
        ["type", (f) => el("code", {}, f.type ?? "")],
      ], schema.imports, `Imported fields of ${schema.name}`),
    ],
    schema.fieldSets.length > 0 && [
      el("h3", {}, "Sets of fields"),
      schema.fieldSets.map((set) => el("p", {}, el("code", {}, set.name), ": ", tags(set.fields))),
    ],
    el("h3", {}, "Rank profiles"),
    schema.profiles.map((of) => profile(schema.name, of)),
  );
}

function profile(schema, of) {
  const inherits = of.inherits.length > 0 ? ` inherits ${of.inherits.join(", ")}` : "";
  const phases = [["first phase", of.firstPhase], ["second phase", of.secondPhase], ["global phase", of.globalPhase]]
    .filter(([, phase]) => phase)
    .map(([name, phase]) => ({ name, text: phase.expression, note: phase.count === null ? "" : `of ${number(phase.count)} hits` }));
  const functions = of.functions.map((f) => ({ name: `${f.name}(${f.parameters.join(", ")})`, text: f.expression, note: "" }));
  const lists = [["match features", of.matchFeatures], ["summary features", of.summaryFeatures]]
    .filter(([, list]) => list.length > 0)
    .map(([name, list]) => ({ name, text: list.join(", "), note: "" }));
  const inputs = of.inputs.map((i) => ({ name: `query(${i.name})`, text: i.type, note: i.hasDefault ? "has a default" : "" }));
  const rows = [...inputs, ...phases, ...functions, ...lists];
  return el("details", { "data-profile": of.name },
    el("summary", {}, el("code", {}, of.name), el("span", { class: "quiet" }, inherits)),
    rows.length === 0 ? el("p", { class: "quiet" }, "nothing of its own") : table([
      ["part", (row) => row.name, "fixed"],
      ["what it is", (row) => el("code", {}, row.text)],
      ["", (row) => el("span", { class: "quiet small" }, row.note)],
    ], rows, `Rank profile ${of.name} of ${schema}`),
  );
}
