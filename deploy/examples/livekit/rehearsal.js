// A conversation without a microphone or a server of LiveKit: its real session and agent, with speech that is written here.
import { initializeLogger, llm, stt, voice } from '@livekit/agents';
import { ReadableStream } from 'node:stream/web';
import { EarshotAgent } from './earshot.js';

initializeLogger({ pretty: false, level: 'error' });

const { START_OF_SPEECH, INTERIM_TRANSCRIPT, FINAL_TRANSCRIPT, END_OF_SPEECH } = stt.SpeechEventType;

class Recognizer extends stt.STT {
  label = 'scripted';

  constructor() {
    super({ streaming: true, interimResults: true });
    this.queue = new Promise((resolve) => {
      this.opened = resolve;
    });
  }

  stream() {
    const recognizer = this;
    return new (class extends stt.SpeechStream {
      label = 'scripted';

      run() {
        recognizer.opened(this.queue);
        return new Promise((end) => this.abortSignal.addEventListener('abort', end));
      }
    })(this);
  }

  /** Lets the user say something, word by word. */
  async hear(text) {
    const queue = await this.queue;
    const put = (type, said) => queue.put({ type, alternatives: [{ text: said, language: 'en', startTime: 0, endTime: 0, confidence: 1 }] });
    put(START_OF_SPEECH, '');
    const words = text.split(' ');
    for (let n = 1; n < words.length; n++) put(INTERIM_TRANSCRIPT, words.slice(0, n).join(' '));
    put(FINAL_TRANSCRIPT, text);
    put(END_OF_SPEECH, text);
  }
}

class Silence extends voice.AudioInput {
  constructor() {
    super();
    this.multiStream.addInputStream(new ReadableStream());
  }
}

class Model extends llm.LLM {
  label = () => 'scripted';
}

class Agent extends EarshotAgent {
  /** In place of a model: it repeats what it was told. */
  async llmNode(context) {
    const told = context.items.filter((item) => item.role === 'system').map((item) => item.textContent.split('\n').slice(1).join(', ').trim());
    return ReadableStream.from([`I know: ${told.at(-1) || 'nothing'}`]);
  }

  onEarshotEvent({ event, data }) {
    if (event === 'tool.trigger' || event === 'tool.cancelled') console.log(`event: ${event} ${data.name} ${data.reason ?? ''}`.trim());
  }
}

const recognizer = new Recognizer();
const session = new voice.AgentSession({ stt: recognizer, llm: new Model(), vad: null, turnHandling: { turnDetection: 'stt', endpointing: { minDelay: 0 } } });
const turn = { over: () => {} };
session.on(voice.AgentSessionEventTypes.ConversationItemAdded, ({ item }) => {
  if (item.role === undefined) return;
  console.log(`${item.role}: ${item.textContent}`);
  if (item.role === 'assistant') turn.over();
});
session.input.audio = new Silence();
const earshot = { url: `${process.env.EARSHOT_URL}/v1/apps/clinic/sessions/livekit`, key: process.env.EARSHOT_KEY };
await session.start({ agent: new Agent({ instructions: 'You are the voice of a house.', earshot }), record: false });
for (const text of process.argv.slice(2)) {
  const over = new Promise((resolve) => Object.assign(turn, { over: resolve }));
  await recognizer.hear(text);
  await over;
}
await session.close();
console.log('closed');
process.exit(0);
