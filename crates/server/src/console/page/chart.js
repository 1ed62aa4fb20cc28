// Lines over time as SVG.

import { el, refill, svg } from "./dom.js";

const HEIGHT = 176;
const LEFT = 62;
const BOTTOM = 20;
const TOP = 8;

/** The least number of 1, 2, 5, 10, ... that is not below a value; of bytes a power of two. */
function ceiling(value, isBytes) {
  if (!(value > 0)) return 1;
  if (isBytes) return 2 ** Math.ceil(Math.log2(value));
  const size = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 5, 10].map((times) => times * size).find((one) => one >= value * (1 - 1e-9));
}

/**
 * A chart: `lines` are names, `write` makes a text of a value. `draw(points, window)` shows points `{at, values}`, in seconds, of
 * the last `window` seconds; a value that is null is a gap.
 */
export class Chart {
  constructor(title, lines, write, isBytes = false) {
    Object.assign(this, { title, lines, write, isBytes });
    this.place = el("div", {});
    this.legend = el("p", { class: "legend" });
    this.whole = el("section", { class: "card", "data-chart": title }, el("h2", {}, title), this.place, this.legend);
  }

  draw(points, window) {
    const width = Math.max(this.place.clientWidth, 200);
    const end = points.at(-1)?.at ?? 0;
    const shown = points.filter(({ at }) => at >= end - window);
    const values = shown.flatMap((point) => point.values).filter((value) => value !== null);
    const top = ceiling(Math.max(0, ...values), this.isBytes);
    const x = (at) => LEFT + ((at - end + window) / window) * (width - LEFT - 6);
    const y = (value) => TOP + (1 - value / top) * (HEIGHT - TOP - BOTTOM);
    const grid = [0, 0.5, 1].map((part) => [
      svg("line", { class: "axis", x1: LEFT, x2: width - 6, y1: y(part * top), y2: y(part * top) }),
      svg("text", { x: LEFT - 6, y: y(part * top) + 4, "text-anchor": "end" }, this.write(part * top)),
    ]);
    const times = [
      svg("text", { x: LEFT, y: HEIGHT - 4 }, window >= 60 ? `${window / 60} min ago` : `${window} s ago`),
      svg("text", { x: width - 6, y: HEIGHT - 4, "text-anchor": "end" }, "now"),
    ];
    const drawn = this.lines.flatMap((_, index) => pieces(shown, index).map((piece) => {
      // A point alone would be a line without a length.
      const ends = piece.length === 1 ? [piece[0], piece[0]] : piece;
      const list = ends.map(([at, value], place) => `${(x(at) + (piece.length === 1 ? place : 0)).toFixed(1)},${y(value).toFixed(1)}`);
      return svg("polyline", { class: `line${index}`, points: list.join(" ") });
    }));
    // What this server does not have is not told; where nothing is known yet all names are.
    const has = this.lines.map((_, index) => shown.some((point) => point.values[index] !== null));
    const named = (index) => has[index] || !has.includes(true);
    const last = this.lines.map((_, index) => shown.findLast((point) => point.values[index] !== null)?.values[index] ?? null);
    const told = this.lines.map((name, index) => `${name} ${last[index] === null ? "-" : this.write(last[index])}`);
    refill(this.place, svg("svg", {
      class: "chart", viewBox: `0 0 ${width} ${HEIGHT}`, role: "img", "aria-label": `${this.title}: ${told.filter((_, index) => named(index)).join(", ")}`,
    }, grid, times, drawn));
    refill(this.legend, told.map((text, index) => named(index) && el("span", {}, el("i", { class: `fill${index}` }), text)));
  }
}

/** The unbroken runs of a line: lists of `[at, value]`. */
function pieces(points, index) {
  const all = [[]];
  for (const { at, values } of points) {
    if (values[index] === null) all.push([]);
    else all.at(-1).push([at, values[index]]);
  }
  return all.filter((piece) => piece.length > 0);
}
