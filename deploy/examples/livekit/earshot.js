// Earshot as an agent of LiveKit Agents: it hears what the user says while they speak, and the tools that it finds take
// effect when the turn is over. What it asks and replies is said; else the agent's own model answers, and is told what happened.
import { randomUUID } from 'node:crypto';
import { voice } from '@livekit/agents';
import WebSocket from 'ws';

const { UserInputTranscribed, UserStateChanged, ConversationItemAdded } = voice.AgentSessionEventTypes;

/** A session of Earshot over one WebSocket, which is opened again when it is needed. */
export class EarshotSocket {
  #url;
  #key;
  #told;
  #opened;
  #after = '';
  #waiting = new Map();

  /** @param url of the session, as http://127.0.0.1:8080/v1/apps/house/sessions/s1
   *  @param key of the app, with the scopes messages and triggers
   *  @param told is called with each event of the session, as { event, data } */
  constructor(url, key, told) {
    this.#url = `${url.replace(/^http/, 'ws')}/socket`;
    this.#key = key;
    this.#told = told;
  }

  open() {
    this.#opened ??= new Promise((resolve, reject) => {
      const socket = new WebSocket(`${this.#url}?lastEventId=${this.#after}`, { headers: { Authorization: `Bearer ${this.#key}` } });
      socket.on('error', reject);
      socket.on('message', (text) => this.#hear(JSON.parse(text), () => resolve(socket)));
      socket.on('close', (code, reason) => {
        this.#opened = undefined;
        for (const one of this.#waiting.values()) one.reject(new Error(`the socket was closed: ${code} ${reason}`));
        this.#waiting.clear();
      });
    }).catch((error) => {
      this.#opened = undefined;
      throw error;
    });
    return this.#opened;
  }

  #hear(frame, begun) {
    this.#after = frame.lastEventId ?? this.#after;
    if (frame.event === 'open') begun();
    else if (frame.event === undefined) this.#waiting.get(frame.id)?.resolve(frame);
    else if (frame.event !== 'alive') this.#told(frame);
    this.#waiting.delete(frame.id);
  }

  /** Asks for an operation, by its name over NATS, and returns { status, body }. */
  async ask(request, rest) {
    const socket = await this.open();
    const id = randomUUID();
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      socket.send(JSON.stringify({ id, request, ...rest }));
    });
  }

  async close() {
    (await this.#opened?.catch(() => undefined))?.close(1000);
  }
}

export class EarshotAgent extends voice.Agent {
  #earshot;
  #messageId; // of what is being said
  #heard = ''; // of it, for good
  #settling = []; // triggers that may still be taken back
  #replies = new Set(); // that Earshot has in its history
  #posted = Promise.resolve();

  /** @param options those of an agent, with earshot: { url, key } */
  constructor({ earshot, ...options }) {
    super(options);
    this.#earshot = new EarshotSocket(earshot.url, earshot.key, (event) => this.onEarshotEvent(event));
  }

  /** Is called with each event of the session: a result that comes later, a trigger of a button. */
  onEarshotEvent(_event) {}

  async onEnter() {
    this.session.on(UserInputTranscribed, this.#hears);
    this.session.on(UserStateChanged, this.#begins);
    this.session.on(ConversationItemAdded, this.#says);
    await this.#earshot.open();
  }

  async onExit() {
    this.session.off(UserInputTranscribed, this.#hears);
    this.session.off(UserStateChanged, this.#begins);
    this.session.off(ConversationItemAdded, this.#says);
    await this.#earshot.close();
  }

  #hears = ({ transcript, isFinal }) => {
    const text = `${this.#heard} ${transcript}`.trim();
    if (isFinal) this.#heard = text;
    if (text === '') return;
    this.#messageId ??= randomUUID();
    this.#try('message', { body: { messageId: this.#messageId, actor: 'user', text, final: false } }); // overtaken by the next one, or kept
  };

  /** The user speaks again: what has not settled is taken back. */
  #begins = ({ newState }) => {
    if (newState !== 'speaking') return;
    for (const triggerId of this.#settling.splice(0)) this.#try('cancel', { triggerId });
  };

  /** Words of the agent that are not Earshot's go into its history: a yes to them is none to a question of before. */
  #says = ({ item }) => {
    if (item.role !== 'assistant' || this.#replies.delete(item.textContent)) return;
    this.#posted = this.#try('message', { body: { actor: 'agent', text: item.textContent } });
  };

  async #try(request, rest) {
    try {
      return await this.#earshot.ask(request, rest);
    } catch {
      return { status: 503 }; // the message that decides is sent again
    }
  }

  /** LiveKit calls this when the user's turn is over, before its model answers. */
  async onUserTurnCompleted(context, message) {
    const text = message.textContent ?? '';
    const body = { messageId: this.#messageId ?? randomUUID(), actor: 'user', text, final: true };
    this.#messageId = undefined;
    this.#heard = '';
    if (text.trim() === '') return;
    await this.#posted;
    let answer = await this.#try('message', { body });
    for (let tries = 1; answer.status >= 500 && tries < 3; tries++) answer = await this.#try('message', { body }); // under the same id, so that it counts once
    if (answer.status !== 200) return; // the agent goes on without Earshot
    const { matches, rejected, retracted = [], reply, skipResponse } = answer.body;
    this.#settling.push(...matches.filter((match) => match.dueAt && match.state === 'pending').map((match) => match.triggerId));
    const words = reply ?? matches.find((match) => match.question)?.question ?? rejected.find((one) => one.ask)?.ask;
    if (words || skipResponse) {
      const history = this.chatCtx.copy();
      history.insert(message); // which LiveKit leaves out where its model does not answer
      await this.updateChatCtx(history);
      const said = typeof words === 'object' ? JSON.stringify(words) : words;
      if (reply) this.#replies.add(said);
      if (words) this.session.say(said);
      throw new voice.StopResponse();
    }
    const told = [
      ...matches.map((match) => `${match.name} ${JSON.stringify(match.values)}: ${match.state} ${JSON.stringify(match.call?.result ?? '')}`),
      ...retracted.map((trigger) => `${trigger.name}: taken back`),
    ];
    if (told.length > 0) context.addMessage({ role: 'system', content: `The user's words set this off:\n${told.join('\n')}` });
  }
}
