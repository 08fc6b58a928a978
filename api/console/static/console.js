// What needs life in the console: nothing here is needed to read a page or to send a form.

const $ = (selector, within = document) => within.querySelector(selector);
const all = (selector, within = document) => [...within.querySelectorAll(selector)];
const files = $("script[data-charts]").dataset; // that are loaded where a page needs them

// Times stand in the page in UTC; people read them in their own zone.
const shown = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" });
const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" });
function local(time, brief) {
  const at = new Date(time.dateTime);
  if (isNaN(at)) return;
  const today = at.toDateString() === new Date().toDateString();
  time.textContent = (brief || today ? clock : shown).format(at);
}

// alive gives life to a part of a page, once when it is loaded and again when it is fetched.
function alive(part) {
  all("time", part).forEach((time) => local(time));
  all("table", part).concat(part.matches?.("table") ? [part] : []).forEach(labelled);
  const figures = all("[data-chart]", part).concat(part.matches?.("[data-chart]") ? [part] : []);
  if (figures.length) import(files.charts).then(({ draw }) => figures.forEach((figure) => draw(figure)));
  const texts = all("[data-editor-kind]", part);
  if (texts.length) import(files.editor).then(({ edit }) => texts.forEach((text) => edit(text, files.schema)));
  document.dispatchEvent(new Event("alive"));
  all("[data-chat]", part).concat(part.matches?.("[data-chat]") ? [part] : []).forEach((chat) => chat.lastElementChild?.scrollIntoView({ block: "nearest" }));
}

// labelled gives each value of a table the name of its column, for narrow screens, on which a table is cards.
function labelled(table) {
  const names = all("thead th", table).map((name) => name.textContent.trim());
  if (!names.length) return;
  table.role = "table"; // that it is shown as blocks must not take away that it is one
  for (const row of all("tr", table)) {
    row.role = "row";
    [...row.children].forEach((cell, i) => {
      cell.role = cell.tagName === "TD" ? "cell" : cell.parentElement.parentElement.tagName === "THEAD" ? "columnheader" : "rowheader";
      if (cell.tagName === "TD" && names[i] && !cell.querySelector("table")) cell.dataset.label = names[i];
    });
  }
}

// swap puts parts of a fetched page in the place of their like.
function swap(page, selectors) {
  for (const selector of selectors) {
    const old = $(selector), fresh = $(selector, page);
    if (!old || !fresh) continue;
    const within = old.contains(document.activeElement), focused = within && document.activeElement.id;
    const unfolded = all("details[open]", old).map(named);
    const place = document.importNode(fresh, true);
    old.replaceWith(place);
    alive(place);
    all("details", place).forEach((fold) => unfolded.includes(named(fold)) && (fold.open = true));
    if (focused) document.getElementById(focused)?.focus();
    else if (within) $("[autofocus]", place)?.focus();
  }
}

// named tells what is folded from its like on the same page.
const named = (fold) => fold.id || $("summary", fold)?.textContent;

async function fetched(url, options) {
  const answer = await fetch(url, options);
  if (new URL(answer.url).pathname === "/console/sign-in") {
    location.reload();
    throw new Error("signed out");
  }
  return { page: new DOMParser().parseFromString(await answer.text(), "text/html"), answer };
}

// Parts with data-poll are fetched anew while somebody looks.
for (const part of all("[data-poll]")) {
  const again = async () => {
    if (!document.hidden) await fetched(location.href).then(({ page }) => swap(page, ["#" + part.id])).catch(() => {});
    if (document.getElementById(part.id)?.dataset.poll) setTimeout(again, part.dataset.poll * 1000);
  };
  setTimeout(again, part.dataset.poll * 1000);
}

// Forms with data-swap are sent in the background; links with it are followed there.
document.addEventListener("submit", async (event) => {
  const form = event.target, parts = event.submitter?.dataset.swap ?? form.dataset.swap;
  if (!parts || event.defaultPrevented) return;
  event.preventDefault();
  const data = new URLSearchParams(new FormData(form, event.submitter));
  const get = form.method === "get";
  const url = get ? form.action + "?" + data : event.submitter?.getAttribute("formaction") ?? form.action;
  const buttons = all("button", form);
  buttons.forEach((button) => (button.disabled = true));
  form.setAttribute("aria-busy", "true");
  clearTimeout(live);
  asked++; // what was asked while it was filled in is old now
  try {
    const { page, answer } = await fetched(url, get ? {} : { method: "POST", body: data });
    swap(page, parts.split(" "));
    if (get) history.replaceState(null, "", url);
    else if (answer.ok && form.dataset.clear) form.elements[form.dataset.clear].value = "";
  } catch {
    form.submit(); // the browser says what is wrong
  } finally {
    buttons.forEach((button) => (button.disabled = false));
    form.removeAttribute("aria-busy");
    if (form.dataset.clear) form.elements[form.dataset.clear].focus();
  }
});

// A form with data-live is sent while it is filled in, and those parts of the answer replace their like.
let live, asked = 0;
document.addEventListener("input", (event) => {
  const form = event.target.closest("form[data-live]");
  if (!form) return;
  clearTimeout(live);
  live = setTimeout(async () => {
    const data = new URLSearchParams(new FormData(form)), turn = ++asked;
    data.set("do", "preview");
    const { page } = await fetched(form.action, { method: "POST", body: data });
    if (turn === asked && form.isConnected) swap(page, form.dataset.live.split(" "));
  }, 400);
});

document.addEventListener("click", async (event) => {
  const link = event.target.closest("a[data-swap]");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
  event.preventDefault();
  try {
    const { page } = await fetched(link.href);
    swap(page, link.dataset.swap.split(" "));
    history.pushState(null, "", link.href);
    const target = $(link.hash || "#none");
    target?.scrollIntoView({ block: "nearest" });
    target?.focus({ preventScroll: true });
  } catch {
    location.href = link.href;
  }
});
addEventListener("popstate", () => location.reload());

document.addEventListener("click", (event) => {
  const example = event.target.closest("[data-fill]");
  if (!example) return;
  const field = $(example.dataset.fill);
  field.value = example.textContent;
  field.focus();
});

// Words of an example are selected, and a parameter marks them as its value; what that does is rehearsed at once.
for (const form of all("[data-marking]")) {
  const text = $("textarea", form), marks = $("[data-marks]", form), rehearse = $("[data-rehearse]", form);
  if (marks) marks.hidden = false;
  form.addEventListener("click", (event) => {
    const button = event.target.closest("[data-mark]");
    if (!button || text.selectionStart === text.selectionEnd) return;
    const words = text.value.slice(text.selectionStart, text.selectionEnd), inner = words.trim();
    text.setRangeText(words.replace(inner, () => `[${inner}](${button.dataset.mark})`), text.selectionStart, text.selectionEnd, "end");
    form.requestSubmit(rehearse);
  });
}

// A fault of an editor leads to its place in the text.
document.addEventListener("click", (event) => {
  const to = event.target.closest("[data-from]");
  if (!to) return;
  const text = $("textarea", to.closest("[data-editor]"));
  if (text.hidden) return text.dispatchEvent(new CustomEvent("pick", { detail: { from: +to.dataset.from, to: +to.dataset.to } }));
  const line = text.value.slice(0, to.dataset.from).split("\n").length - 1;
  text.focus();
  text.setSelectionRange(+to.dataset.from, +to.dataset.to);
  text.scrollTop = Math.max(0, (line - 5) * parseFloat(getComputedStyle(text).lineHeight));
});

// The feed of events: what fired, what did not and why, what came of calls.
const kinds = {
  "tool.trigger": (e) => ["fired", "fired", e.name, values(e.values)],
  "tool.rejected": (e) => ["rejected", "rejected", e.name, (e.errors ?? []).map((f) => f.parameter + " " + f.detail).join("; ")],
  "tool.notmatching": (e) => ["none", "no match", "", (e.toolsTotal ?? (e.tools ?? []).length) + " tools in scope"],
  "tool.result": (e) => (e.ok ? ["done", "answered", e.name, e.status ?? ""] : ["failed", "failed", e.name, [e.reason, e.error].filter(Boolean).join(": ")]),
  "tool.confirm": (e) => ["none", "asks", e.name, e.question ?? ""],
  "tool.cancelled": (e) => ["none", "cancelled", e.name, [e.reason, values(e.values)].filter(Boolean).join(": ")],
  "tool.duplicate": (e) => ["none", "duplicate", e.name, values(e.values)],
  "chat.message": (e) => ["none", "said", e.actor, ""],
  "chat.failed": (e) => ["failed", "not decided", "", e.reason ?? ""],
  "tool.changed": (e) => ["changed", e.operation ?? "changed", e.repositoryId, ""],
};
const values = (given) => Object.entries(given ?? {}).map(([name, value]) => name + " " + JSON.stringify(value)).join("  ");

function element(name, attributes, ...children) {
  const made = Object.assign(document.createElement(name), attributes);
  made.append(...children);
  return made;
}

function item(kind, event, feed) {
  const [looks, what, name, rest] = kinds[kind](event);
  const time = element("time", { dateTime: event.ts, title: event.ts });
  local(time, feed.classList.contains("small"));
  const body = element("span", { className: "body" });
  if (name) body.append(element("b", { className: "tool", textContent: name }), " ");
  if (rest !== "") body.append(element("span", { className: looks === "rejected" || looks === "failed" ? "why" : "note", textContent: rest }), " ");
  if (event.text && kind !== "tool.result") body.append(element("q", { textContent: event.text }));
  const at = `/console/apps/${encodeURIComponent(feed.dataset.app)}/`;
  const session = event.sessionId ?? "";
  const where = element("span", { className: "session" }, feed.dataset.links && session
    ? element("a", { href: at + "sessions/" + encodeURIComponent(session) + (event.messageId ? "?message=" + encodeURIComponent(event.messageId) + "#why" : ""), textContent: session })
    : session);
  return element("li", { className: "event " + looks }, element("span", { className: "when" }, time), element("span", { className: "what", textContent: what }), body, where);
}

for (const feed of all("[data-feed]")) {
  const most = 200, pause = $("[data-pause]");
  let paused = false, first = true, held = [];
  const add = (made) => {
    if (first) feed.replaceChildren(); // what the server wrote is among what comes
    first = false;
    feed.prepend(made);
    while (feed.children.length > most) feed.lastElementChild.remove();
    all("[data-feed-empty]").forEach((empty) => (empty.hidden = true));
  };
  const opened = Date.now();
  const source = new EventSource(feed.dataset.feed);
  for (const kind of Object.keys(kinds)) {
    source.addEventListener(kind, (message) => {
      const event = JSON.parse(message.data), made = item(kind, event, feed);
      if (new Date(event.ts).getTime() > opened) made.classList.add("new");
      if (paused) held.push(made);
      else add(made);
    });
  }
  if (pause) {
    pause.hidden = false;
    pause.addEventListener("click", () => {
      paused = !paused;
      pause.textContent = paused ? "Resume" : "Pause";
      if (!paused) held.splice(0).forEach(add);
    });
  }
}

// Sessions come to the list with what happens in them, and with what has happened since the page was made.
for (const list of all("[data-sessions]")) {
  const source = new EventSource(list.dataset.sessions);
  const show = (kind, event) => {
    if (!event.sessionId || kind === "tool.changed" || kind === "chat.message" || event.ok || new Date(event.ts) < new Date(list.dataset.read)) return;
    let line = $(`[data-session="${CSS.escape(event.sessionId)}"]`, list);
    if (line && new Date(line.dataset.at) > new Date(event.ts)) return;
    const [looks, what, name] = kinds[kind](event);
    const state = { fired: "fired", rejected: "rejected", failed: "failed", done: "delivered" }[looks] ?? "none";
    const to = `/console/apps/${encodeURIComponent(list.dataset.app)}/sessions/${encodeURIComponent(event.sessionId)}`;
    const time = element("time", { dateTime: event.ts, title: event.ts });
    local(time);
    const said = event.text ? element("q", { textContent: event.text }) : (line && $("q", line)) ?? "";
    line?.remove();
    line = element("li", {},
      element("a", { href: to + (event.messageId ? "?message=" + encodeURIComponent(event.messageId) : "") + "#why" }, element("b", { className: "tool", textContent: event.sessionId })),
      element("span", { className: "came-to" }, element("span", { className: "state " + state, textContent: what }), " ", element("span", { className: "tool", textContent: name })),
      element("span", { className: "text" }, said), time);
    line.dataset.session = event.sessionId;
    line.dataset.at = event.ts;
    const before = [...list.children].find((other) => new Date(other.dataset.at) <= new Date(event.ts));
    list.insertBefore(line, before ?? null);
    all("[data-feed-empty]").forEach((empty) => (empty.hidden = true));
  };
  for (const kind of Object.keys(kinds)) source.addEventListener(kind, (message) => show(kind, JSON.parse(message.data)));
}

// The theme changes in place; the server keeps the choice.
const themeButton = $("[data-theme-switch] button");
function offer(theme) {
  themeButton.value = theme;
  $("use", themeButton).setAttribute("href", "#i-" + theme);
  themeButton.setAttribute("aria-label", `Use the ${theme} theme`);
}
$("[data-theme-switch]").addEventListener("submit", (event) => {
  event.preventDefault();
  const chosen = themeButton.value;
  fetch(event.target.action, { method: "POST", body: new URLSearchParams({ theme: chosen, next: "/console" }), redirect: "manual" });
  document.documentElement.dataset.theme = chosen;
  offer(chosen === "dark" ? "light" : "dark");
});
if (!document.documentElement.dataset.theme && matchMedia("(prefers-color-scheme: dark)").matches) offer("light");

// Keys: / searches, j and k go through a list, g and a letter goes to a page, what has
// aria-keyshortcuts is clicked by its letter, ? shows them all. Who needs letters for something
// else turns them off.
const keys = $("#keys"), help = $("[data-help]"), lettersOn = $("[data-keys-on]");
const key = (letters, text) => element("div", { className: "more" }, element("dt", {}, ...letters.flatMap((letter) => [element("kbd", { textContent: letter }), " "])), element("dd", { textContent: text }));
function showKeys() {
  all(".more", keys).forEach((entry) => entry.remove());
  const acts = {};
  for (const act of all("main [aria-keyshortcuts]")) acts[act.getAttribute("aria-keyshortcuts")] ??= (act.ariaLabel ?? act.textContent).trim();
  $("dl", keys).append(
    ...Object.entries(acts).map(([letter, text]) => key([letter], text)),
    ...all("[data-key]").map((link) => key(["g", link.dataset.key], link.textContent.trim())));
  keys.showModal();
}
lettersOn.checked = localStorage.getItem("letters") !== "off";
lettersOn.addEventListener("change", () => localStorage.setItem("letters", lettersOn.checked ? "on" : "off"));
help.hidden = false;
help.addEventListener("click", showKeys);

// step moves to the link of the next item of a list, or of the one before.
function step(by) {
  const items = all("main :is(tbody tr, .list > li, .leaves > li, .feed > li, .cards > li, .turn)")
    .map((item) => ({ item, link: $("a[href]", item) })).filter(({ link }) => link?.checkVisibility());
  const at = items.findIndex(({ item }) => item.contains(document.activeElement));
  const next = items[at < 0 ? (by > 0 ? 0 : items.length - 1) : at + by];
  next?.link.focus();
  next?.item.scrollIntoView({ block: "nearest" });
}

let going = 0;
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || keys.open) return;
  const field = event.composedPath()[0].closest?.("input, textarea, select, [contenteditable]");
  if (field) {
    if (event.key === "Escape") field.blur();
    return;
  }
  if (!lettersOn.checked) return;
  const to = Date.now() - going < 1500 && $(`[data-key="${CSS.escape(event.key)}"]`);
  going = 0;
  if (to) return to.click();
  if (event.key === "?") return showKeys();
  if (event.key === "g") return (going = Date.now());
  if (event.key === "j" || event.key === "k") return step(event.key === "j" ? 1 : -1);
  const search = event.key === "/" && $("[data-search]");
  if (search) {
    event.preventDefault();
    search.focus();
    search.select?.();
    return;
  }
  // What is done to the item that has the focus comes before what is done to the page.
  const named = `[aria-keyshortcuts="${CSS.escape(event.key)}"]`;
  const act = $(named, document.activeElement.closest("main li, main tr, main article") ?? document.createElement("i")) ?? $("main " + named);
  if (act) {
    event.preventDefault();
    act.click();
  }
});

alive(document);
