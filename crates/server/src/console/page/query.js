// The playground: a search with its parameters, what it finds, and what was done for it.

import { application, call } from "./api.js";
import { el, failure, refill } from "./dom.js";
import { explained } from "./explain.js";
import { hits } from "./hits.js";
import { number } from "./format.js";
import { timing } from "./timing.js";

/** What was typed, for as long as the page is open. */
const kept = { yql: null, profile: "", hits: "10", more: "", explain: true, inputs: {} };

export async function query(place) {
  const { application: of } = await application();
  const stored = of?.schemas.filter((schema) => schema.documents !== null) ?? [];
  if (stored.length === 0) {
    place.append(el("p", { class: "notice" }, "There is nothing to search: no application with documents is served."));
    return;
  }
  kept.yql ??= `select * from ${stored[0].type} where true`;
  place.append(new Playground(stored).whole);
}

class Playground {
  constructor(schemas) {
    this.profiles = new Map();
    for (const schema of schemas) {
      for (const profile of schema.profiles) {
        const inputs = this.profiles.get(profile.name) ?? new Map();
        for (const input of profile.inputs) inputs.set(input.name, input);
        this.profiles.set(profile.name, inputs);
      }
    }
    this.inputs = el("div", { class: "grid" });
    this.result = el("div", { "aria-live": "polite", id: "result" });
    this.go = el("button", { type: "submit", class: "primary", title: "Ctrl+Enter" }, "Search");
    const box = (name, label, tag, properties) => {
      const node = el(tag, { name, ...properties });
      node.value = kept[name];
      node.addEventListener("input", () => (kept[name] = node.value));
      return el("label", {}, label, node);
    };
    const profile = el("select", { name: "profile", onchange: (event) => this.choose(event.target.value) },
      el("option", { value: "" }, "(as the query profile says)"),
      [...this.profiles.keys()].map((name) => el("option", { value: name }, name)));
    profile.value = this.profiles.has(kept.profile) ? kept.profile : "";
    kept.profile = profile.value;
    const explain = el("input", { type: "checkbox", name: "explain", onchange: (event) => (kept.explain = event.target.checked) });
    explain.checked = kept.explain;
    const form = el("form", { class: "card", onsubmit: (event) => { event.preventDefault(); this.run(); }, onkeydown: (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); this.run(); }
    } },
    box("yql", "YQL", "textarea", { rows: "3", spellcheck: "false" }),
    el("div", { class: "grid gap" },
      el("label", {}, "Rank profile", profile),
      box("hits", "Hits", "input", { type: "number", min: "0", class: "mono" })),
    this.inputs,
    el("details", { open: kept.more !== "" }, el("summary", {}, "More parameters"),
      box("more", "One on each line, as name=value", "textarea", { rows: "3", spellcheck: "false", placeholder: "query=blue moon\nranking.softtimeout.enable=false" })),
    el("div", { class: "row gap" }, this.go, el("label", { class: "check" }, explain, "Explain (matching runs once more for that)")));
    this.whole = el("div", {}, form, this.result);
    this.choose(kept.profile);
  }

  /** Asks for the inputs of a profile. */
  choose(name) {
    kept.profile = name;
    const inputs = [...(this.profiles.get(name || "default")?.values() ?? [])];
    refill(this.inputs, inputs.map((input) => {
      const node = el("input", { class: "mono", "data-input": input.name, placeholder: input.hasDefault ? "its default" : input.type, spellcheck: "false" });
      node.value = kept.inputs[input.name] ?? "";
      node.addEventListener("input", () => (kept.inputs[input.name] = node.value));
      return el("label", {}, el("code", {}, `query(${input.name})`), el("span", { class: "quiet small" }, ` ${input.type}`), node);
    }));
  }

  parameters() {
    const all = { yql: kept.yql, "presentation.timing": "true" };
    if (kept.hits !== "") all.hits = kept.hits;
    if (kept.profile) all["ranking.profile"] = kept.profile;
    for (const node of this.inputs.querySelectorAll("[data-input]")) {
      if (node.value.trim()) all[`input.query(${node.dataset.input})`] = node.value.trim();
    }
    for (const line of kept.more.split("\n")) {
      const at = line.indexOf("=");
      if (at > 0) all[line.slice(0, at).trim()] = line.slice(at + 1).trim();
    }
    if (kept.explain) Object.assign(all, { "trace.level": "1", "trace.explainLevel": "1" });
    return all;
  }

  async run() {
    this.go.disabled = true;
    const begin = performance.now();
    try {
      const { status, text } = await call("POST", "search/", { body: this.parameters() });
      const took = (performance.now() - begin) / 1000;
      const answer = JSON.parse(text);
      if (answer.root) this.show(answer, took);
      else refill(this.result, failure(new Error(answer.error ?? answer.message ?? `the server answered ${status}`)));
    } catch (error) {
      refill(this.result, failure(error));
    }
    this.go.disabled = false;
  }

  show(answer, took) {
    const { root } = answer;
    const covered = root.coverage;
    const list = (root.children ?? []).filter((child) => !String(child.id).startsWith("group:"));
    const groups = (root.children ?? []).filter((child) => String(child.id).startsWith("group:"));
    const part = covered && !covered.full ? `, ${covered.coverage} % of the documents covered` : "";
    const among = covered ? ` of ${number(covered.documents)} documents` : "";
    const trace = (answer.trace?.children ?? []).map((child) => child.message);
    const details = trace.filter((message) => typeof message === "object");
    const notes = trace.filter((message) => typeof message === "string");
    refill(this.result,
      (root.errors ?? []).map((error) => failure(new Error(`${error.summary}: ${error.message}`))),
      el("p", { id: "found" }, el("strong", {}, `${number(root.fields?.totalCount ?? 0)} matches`), among, part),
      hits(list),
      groups.length > 0 && el("details", { class: "card" }, el("summary", {}, "Groups"), el("pre", {}, JSON.stringify(groups, null, 2))),
      timing(answer.timing, took, details),
      details.map(explained),
      notes.length > 0 && el("section", { class: "card" }, el("h2", {}, "Notes"), notes.map((note) => el("p", { class: "small" }, note))),
      el("details", { class: "card" }, el("summary", {}, "The answer as it came"), el("pre", {}, JSON.stringify(answer, null, 2))),
    );
    this.result.dataset.done = String(Number(this.result.dataset.done ?? 0) + 1);
  }
}
