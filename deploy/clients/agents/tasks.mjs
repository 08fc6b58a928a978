// Tasks (the extension io.modelcontextprotocol/tasks) for a client of MCP that does not know them, as the official one
// up to 2.4.0. The client keeps its calls: what a task needs goes on below them, in its transport.
//
//   import { withTasks } from './tasks.mjs';
//   await client.connect(withTasks(new StreamableHTTPClientTransport(url)));
//   await client.callTool({ name: 'report' }, { timeout: 3_600_000, onprogress: ({ message }) => console.log(message) });
//
// Questions of a task reach the client's elicitation handler, its progress onprogress. Where the client aborts a call,
// also by its time-out, the task is cancelled. Where the connection is closed, the task goes on.

const EXTENSION = 'io.modelcontextprotocol/tasks';
const CAPABILITIES = 'io.modelcontextprotocol/clientCapabilities';
const STATE = 'task:'; // begins the requestState by which the client's next call is known as the answer to a task

/** Returns the transport with tasks: one of the SDK's interface Transport, for the client's connect. */
export function withTasks(transport) {
  const closed = new AbortController();
  const calls = new Map(); // calls of the client, by their ids
  const asked = new Map(); // requests of this module, by theirs
  let deliver; // the client's onmessage
  let last = 0;

  transport.onmessage = (message, extra) => {
    const settle = asked.get(message.id);
    if (settle) return settle(message);
    for (const call of message.method === 'notifications/progress' ? calls.values() : []) { // of one that is no task yet
      if (call.message.params._meta.progressToken === message.params.progressToken) call.progress = message.params.progress;
    }
    const call = calls.get(message.id);
    if (call && !message.method) {
      calls.delete(message.id);
      if (message.result?.resultType === 'task') return void follow(call, message.result);
    }
    deliver?.(message, extra);
  };

  async function send(message, options) {
    const able = message.params?._meta?.[CAPABILITIES]; // that of no earlier revision, which has no tasks
    if (message.method !== 'tools/call' || !able) return transport.send(message, options);
    const call = { message: structuredClone(message), options, progress: 0 };
    call.message.params._meta[CAPABILITIES] = { ...able, extensions: { ...able.extensions, [EXTENSION]: {} } };
    const { requestState, inputResponses } = message.params;
    if (requestState?.startsWith(STATE)) {
      const taskId = requestState.slice(STATE.length);
      return void ask(call, 'tasks/update', { taskId, inputResponses }).then(() => follow(call, { taskId, pollIntervalMs: 0 }), (fault) => fail(call, fault));
    }
    calls.set(message.id, call);
    options?.requestSignal?.addEventListener('abort', () => calls.delete(message.id));
    return transport.send(call.message, options).catch((fault) => {
      calls.delete(message.id);
      throw fault;
    });
  }

  /** Makes a request about a task, in the client's name. */
  function ask(call, method, params) {
    const { progressToken: _, ...meta } = call.message.params._meta;
    const id = `${EXTENSION}/${++last}`;
    return new Promise((resolve, reject) => {
      asked.set(id, ({ result, error }) => (error ? reject(error) : resolve(result)));
      transport.send({ jsonrpc: '2.0', id, method, params: { ...params, _meta: meta } }).catch(reject);
    }).finally(() => asked.delete(id));
  }

  /** Asks what became of a task until it has a result, or a question. */
  async function follow(call, task) {
    const { taskId } = task;
    const aborted = call.options?.requestSignal ?? new AbortController().signal;
    const over = AbortSignal.any([closed.signal, aborted]);
    const token = call.message.params._meta.progressToken;
    for (;;) {
      await pause(task.pollIntervalMs ?? 1000, over);
      if (closed.signal.aborted) return;
      if (aborted.aborted) return void ask(call, 'tasks/cancel', { taskId }).catch((fault) => transport.onerror?.(fault));
      try {
        task = await ask(call, 'tasks/get', { taskId });
      } catch (fault) {
        if (over.aborted || isPassing(fault)) continue; // the server may be away: the task is not
        return fail(call, fault);
      }
      if (token !== undefined && task.status === 'working') {
        const params = { progressToken: token, progress: ++call.progress, message: task.statusMessage ?? task.status };
        deliver?.({ jsonrpc: '2.0', method: 'notifications/progress', params });
      }
      switch (task.status) {
        case 'completed': return answer(call, { result: { resultType: 'complete', ...task.result } });
        case 'cancelled': return answer(call, { result: { resultType: 'complete', isError: true, content: [{ type: 'text', text: task.statusMessage ?? 'it was cancelled' }] } });
        case 'failed': return answer(call, { error: task.error });
        case 'input_required': if (task.inputRequests) return answer(call, { result: { resultType: 'input_required', inputRequests: task.inputRequests, requestState: STATE + taskId } });
      }
    }
  }

  const answer = (call, outcome) => deliver?.({ jsonrpc: '2.0', id: call.message.id, ...outcome });
  const fail = (call, { code = -32603, message, data }) => answer(call, { error: { code, message: String(message), ...(code !== -32603 && { data }) } });

  return new Proxy(transport, {
    get(_, name) {
      if (name === 'onmessage') return deliver;
      if (name === 'send') return send;
      if (name === 'close') return () => (closed.abort(), transport.close());
      const value = transport[name];
      return typeof value === 'function' ? value.bind(transport) : value;
    },
    set(_, name, value) {
      if (name === 'onmessage') deliver = value;
      else transport[name] = value;
      return true;
    },
  });
}

// A fault of the connection, or a 5xx. An error of JSON-RPC has a number as its code.
const isPassing = (fault) => typeof fault.code !== 'number' && fault.name !== 'UnauthorizedError' && !(fault.status < 500);

function pause(ms, signal) {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const done = () => (clearTimeout(timer), signal.removeEventListener('abort', done), resolve());
    const timer = setTimeout(done, ms);
    signal.addEventListener('abort', done);
  });
}
