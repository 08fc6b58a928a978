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

const begun = await fetch("/session", { method: "POST" });
if (!begun.ok) {
  show("event", await begun.text());
  throw new Error("no session");
}
const { session, token } = await begun.json();

// EventSource can send no header, so the token, which ends soon, stands in the query. It
// connects again by itself, and goes on where it was.
const events = new EventSource(`${session}/events?access_token=${encodeURIComponent(token)}`);
events.addEventListener("open", () => form.classList.add("connected"));
events.addEventListener("tool.trigger", (event) => {
  const fired = JSON.parse(event.data);
  show("event", `${fired.name} ${JSON.stringify(fired.values)}`);
  if (fired.name === "turn-the-page") turn(fired);
});
events.addEventListener("tool.rejected", (event) => {
  const lacking = JSON.parse(event.data);
  show("event", `${lacking.name} needs ${lacking.missing.join(", ")}`);
});

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
