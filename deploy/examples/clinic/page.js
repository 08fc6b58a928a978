// The page of a visitor, on a session token. It shows what is said as the session's history and
// events tell it, by whomever: in this window, in another one, or at the clinic's desk.
const $ = (selector) => document.querySelector(selector);
let session, token;

// begin asks the back-end for the session of this visitor, and a token for it.
async function begin() {
  const begun = await fetch("/session", { method: "POST" });
  if (!begun.ok) throw new Error(await begun.text());
  ({ session, token } = await begun.json());
}

// call makes a request to the service.
async function call(path, body) {
  const answer = await fetch(new URL(path, session), {
    method: body ? "POST" : "GET",
    headers: { "Content-Type": "application/json", Authorization: `Bearer ${token}` },
    body: body && JSON.stringify(body),
  });
  const read = await answer.json();
  if (!answer.ok) throw new Error(read.detail);
  return read;
}

// show shows a message in its place, once, whether history or events bring it first.
function show({ messageId, actor, text, ts }) {
  const items = [...$("#log").children];
  if (items.some((item) => item.dataset.id === messageId)) return;
  const item = document.createElement("li");
  Object.assign(item.dataset, { id: messageId, ts: Date.parse(ts) });
  item.className = actor;
  item.textContent = text;
  $("#log").insertBefore(item, items.find((other) => other.dataset.ts > item.dataset.ts) ?? null);
}

const ask = (question) => ($("#ask").textContent = question ?? "");

// follow shows the events behind the last one that was seen. EventSource can send no header, so
// the token, which ends soon, stands in the query. It connects again by itself, and goes on
// where it was; with another token it has to be made anew.
function follow(after) {
  const events = new EventSource(`${session}/events?access_token=${encodeURIComponent(token)}&lastEventId=${after}`);
  const hear = (kind, take) =>
    events.addEventListener(kind, (event) => {
      after = event.lastEventId;
      take(JSON.parse(event.data));
    });
  const renew = async () => {
    events.close();
    try {
      await begin();
      follow(after);
    } catch {
      setTimeout(renew, 2000);
    }
  };
  events.addEventListener("open", catchUp);
  hear("chat.message", show);
  hear("chat.failed", (failed) => ask(`Please say that again: ${failed.reason}`));
  hear("tool.rejected", (lacking) => ask(lacking.ask));
  hear("tool.notmatching", () => ask("I have not understood that."));
  hear("tool.trigger", (fired) => {
    ask();
    if (fired.name === "turn-the-page") turn(fired);
  });
  hear("token.expiring", renew);
  hear("token.expired", renew);
  events.addEventListener("error", () => { // closed: EventSource gives up, as the token ended while the page slept
    if (events.readyState === EventSource.CLOSED) setTimeout(renew, 2000);
  });
}

// catchUp shows what was said before the events began, and what is still asked.
let caughtUp = false;
async function catchUp() {
  if (caughtUp) return;
  (await call(`${session}/messages?order=desc&limit=20`)).items.forEach(show);
  caughtUp = true;
  ask((await call(session)).open[0]?.ask);
  $("#say").classList.add("connected");
}

// turn does what a tool asks of this page, and says what came of it: once for each event, as a
// stream that goes on may bring one again.
const turned = new Set();
function turn(fired) {
  const page = $("#page");
  if (!turned.has(fired.id)) page.textContent = Number(page.textContent) + 1;
  turned.add(fired.id);
  call(fired.answer.url, { ok: true, result: `page ${page.textContent}` });
}

$("#say").addEventListener("submit", async (event) => {
  event.preventDefault();
  const text = $("#text").value;
  $("#text").value = "";
  // The id makes it one message, should it be sent again.
  await call(`${session}/messages`, { messageId: crypto.randomUUID(), actor: "user", text }).catch((fault) => {
    $("#text").value = text;
    ask(fault.message);
  });
});

await begin().then(() => follow(""), (fault) => ask(fault.message));
