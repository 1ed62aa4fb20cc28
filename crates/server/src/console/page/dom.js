// Elements from values. Texts are always texts: nothing here reads markup.

const SVG = "http://www.w3.org/2000/svg";

function filled(node, properties, children) {
  for (const [name, value] of Object.entries(properties ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value === true) node.setAttribute(name, "");
    else node.setAttribute(name, String(value));
  }
  for (const child of children.flat(Infinity)) {
    if (child === undefined || child === null || child === false) continue;
    node.append(child instanceof Node ? child : String(child));
  }
  return node;
}

/** An element with attributes (those that begin with `on` are listeners) and children, texts or nodes. */
export function el(tag, properties, ...children) {
  return filled(document.createElement(tag), properties, children);
}

/** The same of SVG. */
export function svg(tag, properties, ...children) {
  return filled(document.createElementNS(SVG, tag), properties, children);
}

/** Gives a node other children than before. */
export function refill(node, ...children) {
  node.replaceChildren();
  return filled(node, {}, children);
}

/** A table. Columns are `[title, cell of a row, class]`; the last one takes the room that is left, unless the class of all says otherwise. */
export function table(columns, rows, caption, kind) {
  const head = columns.map(([title, , kind]) => el("th", { scope: "col", class: kind }, title));
  const body = rows.map((row) =>
    el("tr", {}, columns.map(([, cell, kind]) => el("td", { class: kind }, cell(row)))),
  );
  const label = caption ? { "aria-label": caption } : {};
  const whole = el("table", { ...label, class: kind }, el("thead", {}, el("tr", {}, head)), el("tbody", {}, body));
  return el("div", { class: "scroll", tabindex: "0", role: "region", ...label }, whole);
}

/** Names and values side by side. */
export function facts(pairs) {
  return el("dl", { class: "facts" }, pairs.map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, value))));
}

/** Small words in boxes. */
export function tags(words) {
  return words.map((word) => el("span", { class: "tag" }, word));
}

/** Rows of a name, a bar and a text. `rows` are `{name, value, text, kind}`; bars are as long as values are large. */
export function bars(rows, most) {
  const top = most ?? Math.max(...rows.map((row) => Math.abs(row.value)), 0);
  const cells = rows.map((row) => {
    const bar = el("div", { class: `bar ${row.value < 0 ? "minus" : ""} ${row.kind ?? ""}` });
    const part = top > 0 && Number.isFinite(row.value) ? Math.min(Math.abs(row.value) / top, 1) : 0;
    bar.style.width = `${(part * 100).toFixed(2)}%`;
    if (part === 0) bar.hidden = true;
    return el("div", { class: "line" },
      el("div", { class: "name" }, row.name),
      el("div", { class: "track", "aria-hidden": "true" }, bar),
      el("div", { class: "value" }, row.text),
    );
  });
  return el("div", { class: "bars" }, cells);
}

/** How long a button waits for a second press, in milliseconds. */
const PATIENCE = 5000;

/** A button that acts. What is not easily taken back wants a second press, `sure`. What goes wrong is told beside it. */
export function action(label, act, sure) {
  let timer;
  const told = el("span", { class: "bad", role: "alert" });
  const calm = () => {
    clearTimeout(timer);
    timer = undefined;
    button.textContent = label;
    button.classList.remove("danger");
  };
  const button = el("button", { type: "button", onclick: async () => {
    if (sure && timer === undefined) {
      button.textContent = sure;
      button.classList.add("danger");
      timer = setTimeout(calm, PATIENCE);
      return;
    }
    calm();
    button.disabled = true;
    told.replaceChildren();
    try {
      await act();
    } catch (error) {
      told.replaceChildren(error.message ?? String(error));
    }
    button.disabled = false;
  } }, label);
  return el("span", { class: "action" }, button, told);
}

/** What went wrong, for people. */
export function failure(error) {
  return el("p", { class: "error", role: "alert" }, error.message ?? String(error));
}
