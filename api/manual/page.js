// The search, which reads its index when it is first used, and the contents of narrow windows.
const find = document.getElementById('find');
const found = document.getElementById('found');
const contents = document.getElementById('contents');
const narrow = matchMedia('(max-width: 60rem)');
const most = 12; // results that are shown

let index; // a promise of the sections

function read() {
  index ??= fetch(document.body.dataset.index).then(answer => {
    if (!answer.ok) throw new Error(answer.statusText);
    return answer.json();
  }).then(list => list.sections.map(one => ({ ...one, title: one.t.toLowerCase(), text: one.x.toLowerCase() }))).catch(error => {
    index = undefined; // the next letter tries again
    throw error;
  });
  return index;
}

// rank says how well a section fits the words; 0 is not at all.
function rank(one, words) {
  let sum = 0;
  for (const word of words) {
    const title = one.title.includes(word);
    const times = one.text.split(word, 6).length - 1;
    if (!title && !times) return 0;
    sum += (title ? 20 : 0) + times + (new RegExp(`\\b${word.replace(/[^\w]/g, '\\$&')}\\b`).test(one.title) ? 10 : 0);
  }
  return sum / (1 + one.text.length / 20000);
}

// excerpt is the text around the first word, with the words marked.
function excerpt(one, words) {
  const line = document.createElement('span');
  const first = Math.max(0, Math.min(...words.map(word => one.text.indexOf(word)).filter(at => at >= 0)) - 60);
  const part = one.x.slice(Number.isFinite(first) ? first : 0).slice(0, 180);
  const low = part.toLowerCase();
  let at = 0;
  while (at < part.length) {
    const next = words.map(word => [low.indexOf(word, at), word]).filter(([place]) => place >= 0).sort((a, b) => a[0] - b[0])[0];
    if (!next) break;
    line.append(part.slice(at, next[0]));
    const mark = document.createElement('mark');
    mark.textContent = part.slice(next[0], next[0] + next[1].length);
    line.append(mark);
    at = next[0] + next[1].length;
  }
  line.append(part.slice(at));
  return line;
}

function note(text) {
  const line = document.createElement('p');
  line.textContent = text;
  found.replaceChildren(line);
}

async function search() {
  const words = find.value.toLowerCase().split(/\s+/).filter(Boolean).slice(0, 8);
  found.hidden = words.length === 0;
  if (!words.length) return;
  let sections;
  try {
    sections = await read();
  } catch {
    return note('The index of the search cannot be read now. Try again.');
  }
  const best = sections.map(one => [rank(one, words), one]).filter(([score]) => score > 0).sort((a, b) => b[0] - a[0]).slice(0, most);
  if (!best.length) return note('No page has all of these words.');
  found.replaceChildren(...best.map(([, one]) => {
    const link = document.createElement('a');
    link.href = one.p;
    const title = document.createElement('b');
    title.textContent = one.t;
    link.append(title, excerpt(one, words));
    return link;
  }));
}

find.hidden = false; // it needs this script
find.addEventListener('focus', () => read().catch(() => {}));
find.addEventListener('input', search);
find.addEventListener('keydown', event => {
  if (event.key === 'Enter') found.querySelector('a')?.click();
  if (event.key === 'ArrowDown') { event.preventDefault(); found.querySelector('a')?.focus(); }
});
found.addEventListener('keydown', event => {
  const step = { ArrowDown: 'nextElementSibling', ArrowUp: 'previousElementSibling' }[event.key];
  if (!step) return;
  event.preventDefault();
  (document.activeElement[step] ?? find).focus();
});
found.addEventListener('click', () => { found.hidden = true; });
addEventListener('click', event => { if (!found.contains(event.target) && event.target !== find) found.hidden = true; });
addEventListener('keydown', event => {
  if (event.key === 'Escape') found.hidden = true;
  if (event.key !== '/' || event.target.closest('input, textarea')) return;
  event.preventDefault();
  find.focus();
});

contents.open = !narrow.matches;
narrow.addEventListener('change', () => { contents.open = !narrow.matches; });
document.querySelector('nav [aria-current]')?.scrollIntoView({ block: 'nearest' });

// The reference of operations was at /docs: its anchors lead there.
if (location.pathname === '/docs' && location.hash && !document.getElementById(decodeURIComponent(location.hash.slice(1)))) {
  location.replace('/docs/reference/api' + location.hash);
}
