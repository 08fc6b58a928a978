// The page works without this script; it adds calls, a search and what opens by itself.
const key = document.querySelector('#key');
const find = document.querySelector('#find');
const contents = document.querySelector('#contents');
const narrow = matchMedia('(max-width: 60rem)');

// request reads a form: where it goes, and what with.
function request(form) {
  let path = form.dataset.path;
  const query = new URLSearchParams();
  const headers = {};
  for (const input of form.querySelectorAll('input')) {
    const value = input.value.trim();
    if (input.dataset.in === 'path') path = path.replace(`{${input.name}}`, encodeURIComponent(value));
    else if (value && input.dataset.in === 'query') query.set(input.name, value);
    else if (value) headers[input.name] = value;
  }
  const body = form.elements.body?.value.trim();
  if (body) headers['Content-Type'] = 'application/json';
  return { method: form.dataset.method, url: path + (query.size ? `?${query}` : ''), headers, body };
}

const quoted = text => `'${text.replaceAll("'", `'\\''`)}'`;

// curl is the line for what a form says. The key that was typed in is not in it.
function curl(form) {
  const { method, url, headers, body } = request(form);
  const words = ['curl'];
  if ('streams' in form.dataset) words.push('-N');
  if (method !== 'GET') words.push('-X', method);
  words.push(`"$EARSHOT_URL${url}"`);
  if (!('open' in form.dataset)) words.push('-H "Authorization: Bearer $EARSHOT_KEY"');
  for (const [name, value] of Object.entries(headers)) words.push('-H', quoted(`${name}: ${value}`));
  if (body) words.push('-d', quoted(body));
  return words.join(' ');
}

// send makes the call of a form and shows what comes of it, as it comes.
async function send(form) {
  if (form.running) return form.running.abort();
  const { method, url, headers, body } = request(form);
  if (key.value && !('open' in form.dataset)) headers.Authorization = `Bearer ${key.value}`;
  const out = form.querySelector('output');
  const button = form.querySelector('button[type=submit]');
  form.running = new AbortController();
  button.textContent = 'Stop';
  out.replaceChildren('Waiting for the answer…');
  const began = performance.now();
  try {
    const answer = await fetch(url, { method, headers, body: body || undefined, signal: form.running.signal, redirect: 'manual', credentials: 'omit', cache: 'no-store' });
    await show(out, answer, Math.round(performance.now() - began));
  } catch (error) {
    out.append(error.name === 'AbortError' ? 'Stopped.' : `No answer: ${error.message}`);
  } finally {
    form.running = undefined;
    button.textContent = 'Send';
  }
}

async function show(out, answer, ms) {
  const status = document.createElement('p');
  const verdict = document.createElement('span');
  verdict.className = answer.ok || answer.type === 'opaqueredirect' ? 'good' : 'bad';
  verdict.textContent = answer.type === 'opaqueredirect' ? 'It leads elsewhere' : `${answer.status} ${answer.statusText}`;
  status.append(verdict, ` after ${ms} ms`);
  const text = document.createElement('pre');
  text.tabIndex = 0;
  out.replaceChildren(status);
  for (const name of ['Location', 'Retry-After', 'Preference-Applied']) {
    if (answer.headers.has(name)) status.append(`; ${name}: ${answer.headers.get(name)}`);
  }
  const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader();
  for (let part; reader && !(part = await reader.read()).done;) {
    if (!text.isConnected) out.append(text);
    text.append(part.value);
  }
  if (answer.headers.get('Content-Type')?.includes('json') && text.textContent) text.textContent = indented(text.textContent);
}

// indented lays JSON out without reading its numbers, which may have more digits than
// JavaScript keeps.
function indented(text) {
  let depth = 0;
  const line = () => '\n' + '  '.repeat(depth);
  return text.trim().replace(/"(?:[^"\\]|\\.)*"|\{\s*\}|\[\s*\]|[{[\]},:]|\s+/g, token => {
    if (token[0] === '"' || token.length > 1 && token.trim()) return token;
    if (token === '{' || token === '[') { depth++; return token + line(); }
    if (token === '}' || token === ']') { depth--; return line() + token; }
    if (token === ',') return token + line();
    return token === ':' ? ': ' : '';
  });
}

for (const form of document.querySelectorAll('form.try')) {
  const line = form.closest('.inside').querySelector('[data-curl]');
  form.addEventListener('input', () => { line.textContent = curl(form); });
  form.addEventListener('submit', event => { event.preventDefault(); send(form); });
  form.addEventListener('keydown', event => {
    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) form.requestSubmit();
  });
}

for (const button of document.querySelectorAll('[data-copy]')) {
  button.addEventListener('click', async () => {
    await navigator.clipboard.writeText(button.parentElement.querySelector('code').textContent);
    button.textContent = 'Copied';
    setTimeout(() => { button.textContent = 'Copy'; }, 1500);
  });
}

for (const place of document.querySelectorAll('[data-origin]')) place.textContent = location.origin;

// opened shows what an address of the page names, and marks it in the contents.
function opened() {
  const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  for (const link of contents.querySelectorAll('a')) link.toggleAttribute('aria-current', link.hash === location.hash && location.hash !== '');
  if (!target) return;
  for (let at = target; at; at = at.parentElement) if (at.tagName === 'DETAILS') at.open = true;
  target.scrollIntoView();
}
addEventListener('hashchange', opened);
contents.addEventListener('click', event => {
  if (event.target.closest('a') && narrow.matches) contents.open = false;
  if (event.target.closest('a')?.hash === location.hash) opened();
});

// filter leaves in the contents what has the words that are looked for.
find.addEventListener('input', () => {
  const words = find.value.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length) contents.open = true;
  for (const item of contents.querySelectorAll('li')) {
    const text = `${item.textContent} ${item.firstChild.title}`.toLowerCase();
    item.hidden = !words.every(word => text.includes(word));
  }
  for (const list of contents.querySelectorAll('ul')) {
    const empty = ![...list.children].some(item => !item.hidden);
    list.hidden = empty;
    list.previousElementSibling.hidden = empty;
  }
});
find.addEventListener('keydown', event => {
  if (event.key === 'Enter') contents.querySelector('li:not([hidden]) a')?.click();
});
addEventListener('keydown', event => {
  if (event.key !== '/' || event.target.closest('input, textarea')) return;
  event.preventDefault();
  find.focus();
});

key.form.addEventListener('submit', event => event.preventDefault());
contents.open = !narrow.matches;
narrow.addEventListener('change', () => { contents.open = !narrow.matches; });
opened();
