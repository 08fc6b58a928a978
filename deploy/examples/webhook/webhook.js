// An endpoint of a tool that takes calls from Earshot alone: it verifies their signature
// (Standard Webhooks) with nothing but Node, and does nothing twice.
import { createHmac, timingSafeEqual } from "node:crypto";
import { createServer } from "node:http";

// The app's signingSecret, whsec_ and 24 to 64 bytes in base64.
const key = Buffer.from(process.env.SIGNING_SECRET.replace(/^whsec_/, ""), "base64");
const tolerance = 5 * 60; // seconds by which clocks may differ

function isSigned(headers, body) {
  const id = headers["webhook-id"];
  const timestamp = headers["webhook-timestamp"];
  if (!id || !(Math.abs(Date.now() / 1000 - Number(timestamp)) <= tolerance)) return false;
  const expected = createHmac("sha256", key).update(`${id}.${timestamp}.`).update(body).digest();
  // While a secret is changed there are several signatures, each with its version.
  return (headers["webhook-signature"] ?? "").split(" ").some((one) => {
    const [version, signature] = one.split(",");
    const given = Buffer.from(signature ?? "", "base64");
    return version === "v1" && given.length === expected.length && timingSafeEqual(given, expected);
  });
}

const answers = new Map(); // by id; where that matters, keep them with what is booked

function answerTo(headers, body) {
  if (!isSigned(headers, body)) return [401, "the signature is not good"];
  const id = headers["webhook-id"]; // the same on every attempt at a call
  if (!answers.has(id)) {
    const fired = JSON.parse(body);
    answers.set(id, JSON.stringify({ booked: fired.values.day, number: answers.size + 1 }));
  }
  return [200, answers.get(id)];
}

const [host, port] = process.env.ADDR.split(":");
createServer(async (request, response) => {
  const parts = [];
  for await (const part of request) parts.push(part);
  const [status, text] = answerTo(request.headers, Buffer.concat(parts)); // the bytes as they came
  response.writeHead(status, { "Content-Type": status === 200 ? "application/json" : "text/plain" });
  response.end(text);
}).listen(Number(port), host);
