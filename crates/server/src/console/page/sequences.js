// The sequences of stateful models that live now. The calls need the role admin; who has shown a token of it can end one.

import { isAdmin, json, modelPath, plain } from "./api.js";
import { action, el, refill, table } from "./dom.js";
import { age, bytes, count, number } from "./format.js";
import { repository } from "./models.js";

/** How often the lists are read again, in milliseconds. */
const PERIOD = 3000;

export async function sequences(place) {
  const stateful = [];
  for (const [name, versions] of await repository()) {
    for (const { version, state } of versions) {
      if (state !== "READY") continue;
      const config = await json("GET", `${modelPath(name, version)}/config`);
      if (config.sequence_batching) stateful.push(new List(name, version));
    }
  }
  if (stateful.length === 0) {
    place.append(el("p", { class: "notice" }, "No model of this server is stateful."));
    return undefined;
  }
  for (const list of stateful) await list.read();
  place.append(...stateful.map((list) => list.card));
  const timer = setInterval(() => {
    // The page stays as it is while the server cannot be asked; the note says so.
    for (const list of stateful) list.read().catch((error) => list.note(error.message));
  }, PERIOD);
  return () => clearInterval(timer);
}

/** An answer about sequences. Ids may be larger than what a number of this language holds, so their digits are kept as a text. */
async function read(path) {
  return JSON.parse((await plain(path)).replace(/"id":(\d+)/g, '"id":{"digits":"$1"}'));
}

/** An id as the server's paths want it: a text that could be a number stands in quotation marks. */
function idText(id) {
  if (typeof id === "object") return id.digits;
  const isQuoted = id.length > 1 && id.startsWith('"') && id.endsWith('"');
  return /^[0-9]*$/.test(id) || isQuoted ? `"${id}"` : id;
}

class List {
  constructor(name, version) {
    this.path = `${modelPath(name, version)}/sequences`;
    this.name = name;
    this.after = [];
    this.body = el("div", {});
    this.shown = el("div", { "aria-live": "polite" });
    this.card = el("section", { class: "card", "data-sequences": name },
      el("h2", {}, `${name}, version ${version}`), this.body, this.shown);
  }

  note(text) {
    refill(this.body,el("p", { class: "error" }, text));
  }

  async read() {
    const after = this.after.at(-1);
    const page = await read(`${this.path}?limit=50${after ? `&after=${encodeURIComponent(after)}` : ""}`);
    const go = (label, then, can) => el("button", {
      type: "button", disabled: !can, onclick: () => { then(); this.read().catch((error) => this.note(error.message)); },
    }, label);
    const hadFocus = this.body.contains(document.activeElement) ? document.activeElement.textContent : null;
    const rows = page.sequences;
    refill(this.body,
      rows.length === 0 ? el("p", { class: "quiet" }, "No sequence lives now.") : table([
        ["id", (s) => el("button", { type: "button", class: "mono", onclick: () => this.show(s.id) }, idText(s.id)), "fixed"],
        ["steps", (s) => number(s.step), "number"],
        ["status", (s) => s.status],
        ["waiting", (s) => number(s.waiting), "number"],
        ["age", (s) => age(s.age_ms / 1000), "number"],
        ["idle", (s) => age(s.idle_ms / 1000), "number"],
        ["state", (s) => bytes(s.bytes), "number"],
        ["in", (s) => s.state_in],
      ], rows, `Sequences of ${this.name}`),
      (page.next || this.after.length > 0) && el("div", { class: "row" },
        go("Previous", () => this.after.pop(), this.after.length > 0),
        go("Next", () => this.after.push(page.next), Boolean(page.next))),
    );
    // Who moves by the keyboard stays where they were when the list is read again.
    const again = [...this.body.querySelectorAll("button")].find((button) => button.textContent === hadFocus);
    again?.focus();
  }

  async show(id) {
    try {
      const path = `${this.path}/${encodeURIComponent(idText(id))}`;
      const [told, admin] = await Promise.all([read(path), isAdmin()]);
      const end = async () => {
        await json("DELETE", path);
        refill(this.shown, el("p", { class: "quiet" }, `${idText(id)} has ended.`));
        await this.read();
      };
      refill(this.shown,
        el("h3", {}, `State of ${idText(id)} after ${count(told.step, "step", "steps")}`),
        told.state.length === 0 ? el("p", { class: "quiet" }, "none yet") : table([
          ["tensor", (t) => el("code", {}, t.name)],
          ["type", (t) => el("code", {}, t.datatype)],
          ["size", (t) => bytes(t.bytes), "number"],
          ["shape", (t) => el("code", {}, `[${t.shape.join(", ")}]`), "fixed"],
        ], told.state, "State"),
        admin && el("p", { class: "actions" }, action("End this sequence", end, "Its state will be lost. Sure?")),
      );
    } catch (error) {
      refill(this.shown,el("p", { class: "error", role: "alert" }, error.message));
    }
  }
}
