// What the server does now, from its metrics: read again and again while the page is open.

import { application } from "./api.js";
import { Chart } from "./chart.js";
import { el, refill } from "./dom.js";
import { bytes, number, seconds } from "./format.js";
import { growth, quantile, reading, sum } from "./metrics.js";

/** Readings that are kept: half an hour of them at one a second. */
const MOST = 1800;

/** Readings go on when another part of the page is shown, so that nothing is missing when one comes back. */
const state = { readings: [], period: 2, window: 120, model: "", timer: null, isPaused: false, error: null, redraw: null };

const isInference = (labels) => labels.method === "ModelInfer" || labels.method === "Predict";

/**
 * The charts: a title, lines, how values are written, a metric without which there is nothing to show, the values of two readings
 * that follow each other, and whether they are bytes.
 */
const CHARTS = [
  ["Requests a second", ["inferences", "searches", "writes of documents"], (v) => number(v, 3), "stead_pool_threads", (a, b, of) => {
    const rate = (name, passes) => over(growth(a, b, name, passes), b.at - a.at);
    const inferences = (labels) => isInference(labels) && of(labels);
    const both = ["ovms_requests_success", "ovms_requests_fail"].map((name) => rate(name, inferences));
    return [both.every((one) => one === null) ? null : both[0] + both[1], rate("stead_queries"), rate("stead_document_operations")];
  }],
  ["Time of an inference", ["p50", "p99"], seconds, "ovms_request_time_us_bucket", (a, b, of) =>
    [0.5, 0.99].map((part) => over(quantile(a, b, "ovms_request_time_us", part, of), 1e6))],
  ["Time of a search", ["p50", "p99"], seconds, "stead_query_time_us_bucket", (a, b) =>
    [0.5, 0.99].map((part) => over(quantile(a, b, "stead_query_time_us", part, () => true), 1e6))],
  ["Waiting", ["for a model", "for a thread", "in sequences", "writes of documents"], (v) => number(v, 3), "stead_pool_queued", (a, b, of) => [
    sum(b.page, "stead_queue_depth", of), sum(b.page, "stead_pool_queued"), sum(b.page, "stead_sequence_waiting", of),
    sum(b.page, "stead_document_operations_pending"),
  ]],
  ["Memory", ["the process", "documents", "sequences", "kept values and pages"], bytes, "process_resident_memory_bytes", (a, b) => [
    sum(b.page, "process_resident_memory_bytes"), sum(b.page, "stead_document_bytes"), sum(b.page, "stead_sequence_state_bytes"),
    plus(sum(b.page, "stead_kept_value_bytes"), sum(b.page, "stead_paged_bytes")),
  ], true],
];

function over(value, by) {
  return value === null ? null : value / by;
}

function plus(a, b) {
  return a === null && b === null ? null : (a ?? 0) + (b ?? 0);
}

export async function charts(place) {
  if (!(await application()).metrics) {
    place.append(el("p", { class: "notice" }, "The metrics of this server are off: --metrics_enable turns them on."));
    return undefined;
  }
  if (state.readings.length === 0) await read();
  if (state.error) throw state.error;
  const all = CHARTS.map(([title, lines, write, needs, values, isBytes]) =>
    ({ chart: new Chart(title, lines, write, isBytes), needs, values }));
  const note = el("div", { "aria-live": "polite" });
  const model = select("Model", [["", "all models"]], "model", () => draw());
  const draw = () => {
    offer(model);
    refill(note, state.error && el("p", { class: "error" }, `${state.error.message} - it is asked again`));
    const of = (labels) => state.model === "" || labels.name === state.model;
    const page = state.readings.at(-1)?.page;
    for (const { chart, needs, values } of all) {
      chart.whole.hidden = !page?.has(needs);
      if (chart.whole.hidden) continue;
      const points = state.readings.slice(1).map((now, index) => ({ at: now.at, values: values(state.readings[index], now, of) }));
      chart.draw(points, state.window);
    }
    place.dataset.readings = String(state.readings.length);
  };
  const pause = el("button", { type: "button", onclick: () => {
    state.isPaused = !state.isPaused;
    pause.textContent = state.isPaused ? "Go on" : "Pause";
    next();
  } }, state.isPaused ? "Go on" : "Pause");
  place.append(
    el("div", { class: "card row" }, model.whole,
      select("Read every", [[1, "1 s"], [2, "2 s"], [5, "5 s"], [10, "10 s"]], "period", next).whole,
      select("Show", [[60, "1 min"], [120, "2 min"], [600, "10 min"], [1800, "30 min"]], "window", draw).whole,
      pause),
    note,
    el("div", { class: "charts" }, all.map(({ chart }) => chart.whole)),
  );
  state.redraw = draw;
  addEventListener("resize", draw);
  draw();
  next();
  return () => {
    state.redraw = null;
    removeEventListener("resize", draw);
  };
}

/** A choice that sets a member of the state; its type is that of the values. */
function select(label, options, member, then) {
  const node = el("select", { name: member, onchange: () => {
    state[member] = typeof state[member] === "number" ? Number(node.value) : node.value;
    then();
  } }, options.map(([value, text]) => el("option", { value }, text)));
  node.value = String(state[member]);
  return { node, whole: el("label", {}, label, node) };
}

/** Offers the models that the last reading has. */
function offer({ node }) {
  const names = new Set((state.readings.at(-1)?.page.get("stead_queue_depth") ?? []).map(({ labels }) => labels.name));
  const shown = [...node.options].slice(1).map((option) => option.value);
  if (shown.join("\n") === [...names].join("\n")) return;
  if (!names.has(state.model)) state.model = "";
  refill(node, el("option", { value: "" }, "all models"), [...names].map((name) => el("option", { value: name }, name)));
  node.value = state.model;
}

async function read() {
  try {
    state.readings.push(await reading());
    if (state.readings.length > MOST) state.readings.shift();
    state.error = null;
  } catch (error) {
    state.error = error;
  }
}

/** Plans the next reading. */
function next() {
  clearTimeout(state.timer);
  if (state.isPaused) return;
  state.timer = setTimeout(async () => {
    await read();
    state.redraw?.();
    next();
  }, state.period * 1000);
}
