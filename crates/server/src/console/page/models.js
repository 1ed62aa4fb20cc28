// The models of the repository: versions, states, inputs, outputs and how much they are used. Administrators load and unload them here.

import { isAdmin, json, modelPath } from "./api.js";
import { action, el, facts, failure, table, tags } from "./dom.js";
import { number, seconds } from "./format.js";

/** The models by name, with their versions in the order of the server. */
export async function repository() {
  const entries = await json("POST", "v2/repository/index", { body: {} });
  const byName = new Map();
  for (const entry of entries) {
    if (!byName.has(entry.name)) byName.set(entry.name, []);
    byName.get(entry.name).push(entry);
  }
  return byName;
}

/** How long until models are read again while one of them is on its way, in milliseconds. */
const PERIOD = 1000;

export async function models(place) {
  const [byName, admin] = await Promise.all([repository(), isAdmin()]);
  const isPassing = ({ state }) => state === "LOADING" || state === "UNLOADING";
  if ([...byName.values()].flat().some(isPassing)) {
    setTimeout(() => {
      if (place.isConnected) again(place).catch((error) => place.append(failure(error)));
    }, PERIOD);
  }
  if (byName.size === 0) {
    place.append(el("p", { class: "notice" }, "This server has no models."));
    return;
  }
  for (const [name, versions] of byName) {
    const card = el("section", { class: "card", "data-model": name }, el("h2", {}, name));
    card.append(table([
      ["version", (v) => v.version ?? "-"],
      ["state", (v) => el("span", { class: v.state === "READY" ? "good" : "bad" }, v.state ?? "UNKNOWN")],
      ...(versions.some((v) => v.reason) ? [["why", (v) => v.reason ?? ""]] : []),
    ], versions, `Versions of ${name}`));
    if (admin) card.append(actions(place, name, versions));
    place.append(card);
    for (const { version } of versions.filter((v) => v.state === "READY")) {
      card.append(await details(name, version, versions.length > 1));
    }
  }
}

async function again(place) {
  const fresh = el("div", {});
  await models(fresh);
  place.replaceChildren(fresh);
}

/** What an administrator can do with a model; the part is read again then. */
function actions(place, name, versions) {
  const call = (what) => async () => {
    await json("POST", `v2/repository/models/${encodeURIComponent(name)}/${what}`, { body: {} });
    await again(place);
  };
  const isReady = versions.some((v) => v.state === "READY");
  return el("p", { class: "actions" },
    action(isReady ? "Load again" : "Load", call("load")),
    isReady && action("Unload", call("unload"), "Unload: requests will fail. Sure?"),
  );
}

async function details(name, version, several) {
  const path = modelPath(name, version);
  const [metadata, config, statistics] = await Promise.all([
    json("GET", path),
    json("GET", `${path}/config`),
    json("GET", `${path}/stats`),
  ]);
  const rows = [
    ...metadata.inputs.map((tensor) => ({ way: "input", ...tensor })),
    ...metadata.outputs.map((tensor) => ({ way: "output", ...tensor })),
  ];
  const of = statistics.model_stats?.[0];
  const { success, fail, queue } = of?.inference_stats ?? {};
  const mean = (time) => (time?.count > 0 ? seconds(time.ns / time.count / 1e9) : "-");
  const kinds = [metadata.platform];
  if (config.sequence_batching) kinds.push("stateful");
  if (config.max_batch_size > 0) kinds.push(`batches of at most ${config.max_batch_size}`);
  return el("div", { "data-version": version },
    several && el("h3", {}, `Version ${version}`),
    el("p", {}, tags(kinds), config.sequence_batching && el("a", { href: "#sequences" }, "its sequences")),
    table([
      ["", (t) => el("span", { class: "quiet" }, t.way)],
      ["name", (t) => el("code", {}, t.name)],
      ["type", (t) => el("code", {}, t.datatype)],
      ["shape", (t) => el("code", {}, `[${t.shape.join(", ")}]`)],
    ], rows, `Inputs and outputs of ${name}`),
    el("h3", {}, "Use"),
    facts([
      ["Requests", number(success?.count ?? 0)],
      ["Failed", number(fail?.count ?? 0)],
      ["Runs", number(of?.execution_count ?? 0)],
      ["Mean time", mean(success)],
      ["Mean wait", mean(queue)],
    ]),
  );
}
