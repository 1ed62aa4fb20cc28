// The frame of the page: which part is shown, the token, light and dark.

import { CallError, application, hasToken, onToken, setToken } from "./api.js";
import { charts } from "./charts.js";
import { el, failure } from "./dom.js";
import { models } from "./models.js";
import { overview } from "./overview.js";
import { query } from "./query.js";
import { sequences } from "./sequences.js";

/** Pages: a name for the address, a title, and what fills it. It may give a function that ends what it began. */
const PAGES = [
  ["overview", "Applications", overview],
  ["query", "Search", query],
  ["models", "Models", models],
  ["sequences", "Sequences", sequences],
  ["charts", "Charts", charts],
];

const main = document.getElementById("main");
let end = () => {};
let shown = 0;

function page() {
  const name = location.hash.slice(1).split("/")[0];
  return PAGES.find(([known]) => known === name) ?? PAGES[0];
}

async function show() {
  end();
  end = () => {};
  shown += 1;
  const turn = shown;
  const [name, title, fill] = page();
  document.title = `${title} - stead console`;
  for (const link of document.querySelectorAll("#nav a")) {
    if (link.hash === `#${name}`) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  const place = el("div", { "data-page": name });
  main.replaceChildren(el("h1", {}, title), place);
  try {
    const stop = await fill(place);
    if (turn === shown) end = stop ?? end;
    else stop?.();
    place.dataset.ready = "true";
  } catch (error) {
    if (turn !== shown) return;
    place.append(refused(error));
    place.dataset.ready = "true";
  }
}

/** What went wrong, with the way to a token where one is wanted. */
function refused(error) {
  if (!(error instanceof CallError) || !error.wantsToken) return failure(error);
  const button = el("button", { type: "button", class: "primary", onclick: () => askToken(error.message) }, "Give a token");
  return el("div", {}, failure(error), button);
}

const dialog = document.getElementById("token-dialog");
const input = document.getElementById("token-value");

function askToken(why) {
  document.getElementById("token-why").textContent = why;
  input.value = "";
  dialog.returnValue = "";
  dialog.showModal();
  input.focus();
}

dialog.addEventListener("close", () => {
  const given = input.value.trim();
  input.value = "";
  if (dialog.returnValue === "use" && given) setToken(given);
  if (dialog.returnValue === "forget") setToken("");
});

document.getElementById("token").addEventListener("click", () => askToken("Sent with every request of this page."));

onToken(() => {
  document.getElementById("token").textContent = hasToken() ? "Token: given" : "Token";
  showVersion();
  show();
});

const wanted = matchMedia("(prefers-color-scheme: dark)");
let theme = null;

function paint() {
  document.documentElement.dataset.theme = theme ?? (wanted.matches ? "dark" : "light");
}

document.getElementById("theme").addEventListener("click", () => {
  theme = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
  paint();
});
wanted.addEventListener("change", paint);
paint();

function showVersion() {
  const place = document.getElementById("version");
  application().then((told) => place.replaceChildren(told.version), () => {});
}

document.getElementById("nav").append(...PAGES.map(([name, title]) => el("a", { href: `#${name}` }, title)));
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  main.focus();
});
addEventListener("hashchange", () => {
  show();
  main.focus();
});
showVersion();
show();
