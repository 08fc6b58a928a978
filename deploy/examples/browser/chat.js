// A chat on a session token. It posts what the user says, and follows the events of its
// session, so that it shows what fires, whoever set it off.
const log = document.querySelector("#log");
const form = document.querySelector("#say");
const field = document.querySelector("#text");
const page = document.querySelector("#page");

function show(kind, text) {
  const item = document.createElement("li");
  item.className = kind;
  item.textContent = text;
  log.append(item);
}

// begin asks the back-end for the session of this visitor, and a token for it.
async function begin() {
  const begun = await fetch("/session", { method: "POST" });
  if (!begun.ok) throw new Error(await begun.text());
  return begun.json();
}

let { session, token } = await begin().catch((error) => {
  show("event", error.message);
  throw error;
});

// What was said before, should the page be loaded again: the newest first.
const past = await fetch(`${session}/messages?order=desc&limit=20`, { headers: { Authorization: `Bearer ${token}` } });
for (const said of (await past.json()).items.reverse()) show(said.actor, said.text);

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
      ({ token } = await begin());
      follow(after);
    } catch {
      setTimeout(renew, 2000);
    }
  };
  events.addEventListener("open", () => form.classList.add("connected"));
  hear("tool.trigger", (fired) => {
    show("event", `${fired.name} ${JSON.stringify(fired.values)}`);
    if (fired.name === "turn-the-page") turn(fired);
  });
  hear("tool.rejected", (lacking) => show("event", `${lacking.name} needs ${lacking.missing.join(", ")}`));
  hear("token.expiring", renew);
  hear("token.expired", renew);
  events.addEventListener("error", () => { // closed: EventSource gives up, as the token ended while the page slept
    if (events.readyState === EventSource.CLOSED) setTimeout(renew, 2000);
  });
}
follow("");

// post sends JSON to the service.
const post = (url, body) =>
  fetch(new URL(url, session), {
    method: "POST",
    headers: { "Content-Type": "application/json", Authorization: `Bearer ${token}` },
    body: JSON.stringify(body),
  });

// turn does what a tool asks of this page, and says what came of it: once for each event, as a
// stream that goes on may bring one again.
const turned = new Set();
function turn(fired) {
  if (!turned.has(fired.id)) page.textContent = Number(page.textContent) + 1;
  turned.add(fired.id);
  post(fired.answer.url, { ok: true, result: `page ${page.textContent}` });
}

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const text = field.value;
  field.value = "";
  show("user", text);
  // The id makes it one message, should it be sent again.
  const answer = await post(`${session}/messages`, { messageId: crypto.randomUUID(), actor: "user", text });
  const said = await answer.json();
  if (!answer.ok) show("event", said.detail);
  else if (said.reply) show("agent", said.reply);
  else if (said.matches.length + said.rejected.length === 0) show("agent", "I have not understood that.");
});
