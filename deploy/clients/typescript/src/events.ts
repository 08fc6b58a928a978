import type { Http } from './http.js';
import { either, pauseBefore, wait } from './http.js';
import { NoAnswer, Problem } from './problem.js';
import type { components } from './schema.js';

/** The payload of each kind of event. */
export type Events = components['schemas']['Events'];

/** An event: `kind` is the first two words of its subject, and tells which payload `data` is. */
export type Event<K extends keyof Events = keyof Events> = {
  [One in K]: {
    /** Goes on behind this event, where it is given as `after`. */
    id: string;
    kind: One;
    data: Events[One];
  };
}[K];

/** How events are followed. */
export interface Following {
  /** The id of the event behind which it begins: `"0"` is from the first that is kept. From now on where it is missing. */
  after?: string;
  /** Ends it. */
  signal?: AbortSignal;
  /** Called whenever the stream stands. */
  onOpen?: () => void;
  /** Called whenever it does not, or not any more, before it is connected again. */
  onBreak?: (error: unknown) => void;
}

/** One frame of a stream. One without a kind says where the stream is. */
interface Frame {
  id: string;
  kind: string;
  data: string;
}

/** A connection that has lived for so long got a token that is good for a while. */
const goodWhile = 5_000;

/**
 * Yields the events of a path as they come. A connection that ends, or that is silent for too long, is made
 * again and goes on where it was. It ends with the signal, and throws what waiting does not mend.
 */
export async function* follow(http: Http, path: string, { after = '', signal, onOpen, onBreak }: Following): AsyncGenerator<Event> {
  let attempt = 0;
  let renewed = false;
  while (!signal?.aborted) {
    let pause: number | undefined;
    try {
      const begun = Date.now();
      let open = false;
      for await (const frame of frames(http, path, after, signal)) {
        if (!open) onOpen?.();
        else attempt = 0;
        open = true;
        renewed = false;
        if (frame.id) after = frame.id;
        if (frame.kind === 'token.expired' && !http.renews) throw new Problem({ status: 401, title: 'Unauthorized', detail: 'the token has expired' });
        if (frame.kind === 'token.expired' || (frame.kind === 'token.expiring' && Date.now() - begun > goodWhile && http.renews)) {
          http.renew();
          break;
        }
        const event = eventOf(http, frame);
        if (event) yield event;
      }
      pause = pauseBefore(new NoAnswer('the stream ended'), true, attempt);
    } catch (error) {
      if (signal?.aborted) return;
      if (error instanceof Problem && error.status === 401 && http.renews && !renewed) {
        renewed = true;
        http.renew();
        continue;
      }
      pause = pauseBefore(error, true, attempt);
      onBreak?.(error);
      if (pause === undefined) throw error;
    }
    attempt++;
    await wait(pause ?? 0, signal).catch(() => {}); // the loop ends with the signal
  }
}

/** The event of a frame that is one. What somebody else has published and is no JSON is told, and left. */
function eventOf(http: Http, { id, kind, data }: Frame): Event | undefined {
  if (!kind || kind.startsWith('token.')) return undefined;
  try {
    return { id, kind, data: (http.options.parse ?? JSON.parse)(data) } as Event;
  } catch (cause) {
    http.report(new Error(`the data of event ${id}, ${kind}, is no JSON`, { cause }));
    return undefined;
  }
}

/** The frames of one connection. Leaving the loop closes it. */
async function* frames(http: Http, path: string, after: string, signal: AbortSignal | undefined): AsyncGenerator<Frame> {
  const own = new AbortController();
  const { signal: ends, release } = either(signal, own.signal);
  const silence = http.options.silence ?? 45_000;
  const silent = () => own.abort(new NoAnswer(`GET ${path}: nothing came for ${silence} ms`));
  let alive = setTimeout(silent, silence);
  try {
    const headers: Record<string, string> = { Accept: 'text/event-stream' };
    if (after) headers['Last-Event-ID'] = after;
    const response = await http.open({ method: 'GET', path, headers, signal: ends, repeatable: true });
    if (!response.body || !response.headers.get('Content-Type')?.startsWith('text/event-stream')) {
      throw new Problem({ status: response.status, title: 'No stream of events', detail: 'the answer is not one of Earshot’s: is the URL right?' });
    }
    const reader = response.body.getReader();
    const text = new TextDecoder();
    const parser = new Parser();
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      clearTimeout(alive);
      alive = setTimeout(silent, silence);
      yield* parser.push(text.decode(value, { stream: true }));
    }
  } catch (cause) {
    throw cause instanceof Problem || cause instanceof NoAnswer ? cause : new NoAnswer(`GET ${path}: the events broke off`, { cause });
  } finally {
    clearTimeout(alive);
    release();
    own.abort();
  }
}

/** Reads a stream of server-sent events, in whatever pieces it comes. */
export class Parser {
  #rest = '';
  #id = '';
  #kind = '';
  #data: string[] = [];

  *push(text: string): Generator<Frame> {
    const lines = (this.#rest + text).split(/\r\n|\n|\r(?!$)/);
    this.#rest = lines.pop() ?? '';
    for (const line of lines) {
      const frame = this.#take(line);
      if (frame) yield frame;
    }
  }

  #take(line: string): Frame | undefined {
    if (line === '') {
      const frame = { id: this.#id, kind: this.#kind, data: this.#data.join('\n') };
      [this.#id, this.#kind, this.#data] = ['', '', []];
      return frame.id || frame.kind ? frame : undefined;
    }
    const colon = line.indexOf(':');
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '');
    if (name === 'id') this.#id = value;
    if (name === 'event') this.#kind = value;
    if (name === 'data') this.#data.push(value);
    return undefined;
  }
}
