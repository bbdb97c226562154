/** Shows the answer of a call. Whatever it says is text here, never markup. */
import { byId, el } from './dom.js';
import { amount, filesOf } from './files.js';
import { showKeyProblem, showProblems } from './problems.js';

/** Larger texts are for a file and not for a page. */
const mostShown = 1_000_000;

/** Shows an answer; `request` is what it answers. */
export async function showAnswer(form, request, answer) {
  const { bytes } = answer;
  const type = bytes.type.replace(/;.*/, '');
  const envelope = type === 'application/json' ? await readJson(bytes) : undefined;
  forgetAddresses();
  const views =
    envelope?.ok === false ? errorViews(envelope) : await viewsOf(form, request, bytes, type, envelope);
  byId('answer').replaceChildren(...views);
  const problems = envelope?.error?.details ?? [];
  showStatus(answer, envelope, problems.length);
  if (envelope === undefined && answer.status < 400) form.dataset.answered = 'file';
  else if (envelope?.ok && !request.input.dryrun) form.dataset.answered = 'data';
  if (envelope === undefined) form.dataset.extension = endingOf(type);
  showProblems(form, problems);
  if (envelope?.error) showKeyProblem(form, envelope.error);
  if (form.querySelector('[aria-invalid]') === null) showFromItsTop(byId('result'));
}

/** On a narrow screen it is below the form, where only its first line would be seen. */
function showFromItsTop(section) {
  const { top } = section.getBoundingClientRect();
  if (top < 0 || top > innerHeight / 2) section.scrollIntoView({ block: 'start' });
}

export function showRunning() {
  byId('status').replaceChildren(el('span', { class: 'running' }, 'Running…'));
}

export function showCancelled() {
  showNone('Cancelled.');
}

export function showNotSent() {
  showNone(el('span', { class: 'state bad' }, 'Not sent'));
}

export function showUnreachable() {
  const why = 'The gateway could not be reached. Is it running, and are you online?';
  showNone(el('span', { class: 'state bad' }, 'No answer'), why);
}

/** Removes the answer to the call before, which would look like that to this one. */
function showNone(...line) {
  byId('status').replaceChildren(...line);
  byId('answer').replaceChildren();
}

function showStatus({ status, headers, bytes, ms }, envelope, problems) {
  // Something between here and the gateway may have answered, without an envelope.
  const code = envelope?.error?.code ?? (status < 400 ? 'ok' : 'not from the gateway');
  const facts = [
    `${Math.max(1, Math.round(ms))} ms`,
    amount(bytes.size),
    ...remaining(headers.get('ratelimit')),
    ...(/^\d+$/.test(headers.get('retry-after') ?? '') ? [`again in ${headers.get('retry-after')} s`] : []),
    ...(problems > 0 ? [problems === 1 ? '1 problem' : `${problems} problems`] : []),
  ];
  const id = headers.get('x-request-id');
  byId('status').replaceChildren(
    el('span', { class: `state ${status < 400 ? 'good' : 'bad'}` }, `${status} ${code}`),
    ...facts.map((fact) => el('span', { class: 'quiet' }, fact)),
    id ? el('span', { class: 'quiet request-id' }, 'request ', el('code', {}, id)) : '',
  );
}

/** What is left of each limit, of `"rate";r=49;t=1, "quota";r=990;t=86400`. */
function remaining(field) {
  return [...(field ?? '').matchAll(/"([\w-]+)";r=(\d+)/g)].map(([, name, left]) => `${name}: ${left} left`);
}

async function readJson(bytes) {
  try {
    return JSON.parse(await bytes.text());
  } catch {
    return undefined;
  }
}

function errorViews(envelope) {
  const { message, details = [] } = envelope.error;
  const problems = details.map(({ field, problem }) => el('li', {}, el('code', {}, field), ` ${problem}`));
  // One alone is the message.
  const list = problems.length > 1 ? [el('ul', {}, ...problems)] : [];
  return [el('div', { class: 'notice bad' }, el('p', {}, message), ...list), raw(envelope)];
}

async function viewsOf(form, request, bytes, type, envelope) {
  if (envelope) return dataViews(request, envelope);
  if (type.startsWith('image/')) {
    // A page can only assume that the first of several pictures is the source.
    const before = [...filesOf(form).values()].find((file) => file.type.startsWith('image/'));
    const pictures = await compareView(request.files.size > 0 ? before : undefined, bytes);
    if (pictures) return [pictures, download(form, bytes, type)];
  }
  const isText = /^text\/|json$|xml$/.test(type) && bytes.size <= mostShown;
  const note = el('p', {}, `${type || 'Bytes'}, ${amount(bytes.size)}`);
  return [isText ? textView(await bytes.text()) : note, download(form, bytes, type)];
}

/** A diff and a cleaned text get views of their own, above the JSON. */
function dataViews({ input }, envelope) {
  const { data } = envelope;
  const values = Object.values(data ?? {});
  const diffs = values.flatMap((value) => (isDiff(value) ? [diffView(value)] : []));
  if (data?.diff === '') diffs.push(el('p', {}, 'No difference.'));
  const isCleaned = typeof input.text === 'string' && typeof data?.text === 'string';
  const removed = isCleaned ? removedView(input.text, data.text) : undefined;
  const left = removed && [removed, el('p', { class: 'quiet' }, 'What is left:'), textView(data.text)];
  const seen = [...diffs, ...(left ?? [])];
  return seen.length > 0 ? [...seen, raw(envelope)] : [jsonView(envelope)];
}

function raw(envelope) {
  return el('details', {}, el('summary', {}, 'JSON'), jsonView(envelope));
}

function download(form, bytes, type) {
  const name = `${form.dataset.service.split('/').at(-1)}.${endingOf(type)}`;
  const link = { class: 'button quiet-button small', href: addressFor(bytes), download: name };
  return el('p', {}, el('a', link, `Download ${name}`));
}

/** The ending of a file's name for a media type. */
function endingOf(type) {
  const subtype = type.split('/')[1]?.replace(/^x-|[+;].*/g, '') || 'bin';
  return { jpeg: 'jpg', plain: 'txt', javascript: 'js', 'octet-stream': 'bin' }[subtype] ?? subtype;
}

const token = /("(?:[^"\\]|\\.)*")(\s*:)?|\b(?:true|false|null)\b|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;
/** Longer, colours cost more than they help. */
const mostColoured = 200_000;

/** JSON, laid out and coloured. */
function jsonView(value) {
  const text = JSON.stringify(value, null, 2);
  const code = el('code');
  if (text.length > mostColoured) code.append(text);
  else code.append(...coloured(text));
  return scrolling(code, 'json', 'Answer as JSON');
}

function coloured(text) {
  const parts = [];
  let at = 0;
  for (const match of text.matchAll(token)) {
    const [whole, string, colon] = match;
    const kind = string === undefined ? 'literal' : colon === undefined ? 'string' : 'name';
    const part = el('span', { class: `json-${kind}` }, string ?? whole);
    parts.push(text.slice(at, match.index), part, colon ?? '');
    at = match.index + whole.length;
  }
  parts.push(text.slice(at));
  return parts;
}

const hunk = /^@@ -\d+(?:,\d+)? \+\d+(?:,\d+)? @@/m;

/** Whether a text is a unified diff, by its hunks. */
export function isDiff(value) {
  return typeof value === 'string' && hunk.test(value);
}

/** A unified diff, each line in the colour of what it says. */
function diffView(text) {
  const lines = text.replace(/\n$/, '').split('\n');
  const shown = lines.map((line) => {
    const kind = line.startsWith('@@')
      ? 'hunk'
      : /^(?:---|\+\+\+) /.test(line)
        ? 'head'
        : { '+': 'added', '-': 'removed', '\\': 'note' }[line[0]];
    const name = { added: 'ins', removed: 'del' }[kind] ?? 'span';
    return el(name, { class: `line ${kind ?? 'same'}` }, line === '' ? ' ' : line);
  });
  return scrolling(el('code', {}, ...shown), 'diff', 'Answer, line by line');
}

const word = /[\p{L}\p{M}\p{N}_'’ʼ]+|[^\p{L}\p{M}\p{N}_'’ʼ]/gu;
/** Longer texts are shown without marks: each mark is an element. */
const mostMarked = 100_000;

/** `before` with what `after` lacks marked, or undefined where something was added. */
function removedView(before, after) {
  if (before.length > mostMarked || after.length >= before.length) return undefined;
  const parts =
    removedParts(before.match(word) ?? [], after.match(word) ?? []) ?? removedParts([...before], [...after]);
  if (!parts) return undefined;
  const marked = parts.map(({ text, removed }) => (removed ? el('del', {}, text) : text));
  return el('p', { class: 'marked', dir: 'auto' }, ...marked);
}

/** Parts of `before`, each removed or not, so that the others are `after`. */
export function removedParts(before, after) {
  const parts = [];
  let at = 0;
  for (const item of before) {
    const removed = item !== after[at];
    if (!removed) at += 1;
    const last = parts.at(-1);
    if (last?.removed === removed) last.text += item;
    else parts.push({ text: item, removed });
  }
  return at === after.length ? parts : undefined;
}

function textView(text) {
  return scrolling(el('code', { dir: 'auto' }, text), 'text', 'Answer as it came');
}

/** What scrolls has to be reachable with the keyboard. */
function scrolling(code, kind, label) {
  return el('pre', { class: `view ${kind}`, tabindex: 0, role: 'region', 'aria-label': label }, code);
}

let addresses = [];

/** An address for bytes, until the next answer is shown. */
function addressFor(blob) {
  const address = URL.createObjectURL(blob);
  addresses.push(address);
  return address;
}

function forgetAddresses() {
  for (const address of addresses) URL.revokeObjectURL(address);
  addresses = [];
}

/** The pictures as elements; `before` is undefined where it did not come from this page. */
async function compareView(before, after) {
  const [one, two] = await Promise.all([
    before && picture(before, 'Before'),
    picture(after, before ? 'After' : 'What came back'),
  ]);
  if (!two) return undefined;
  const facts = el('dl', { class: 'picture-facts' });
  if (one) facts.append(factsOf('Before', before, one));
  facts.append(factsOf(one ? 'After' : 'Picture', after, two));
  if (!one) return el('div', { class: 'pictures' }, el('div', { class: 'checkerboard' }, two), facts);
  return el('div', { class: 'pictures' }, ...overlaid(one, two), facts);
}

/** Both in the middle of a frame that holds the larger, at one scale. */
function overlaid(one, two) {
  const width = Math.max(one.naturalWidth, two.naturalWidth);
  const height = Math.max(one.naturalHeight, two.naturalHeight);
  const frame = el('div', { class: 'checkerboard overlaid' });
  for (const [image, kind] of [
    [one, 'before'],
    [two, 'after'],
  ]) {
    image.style.width = `${(image.naturalWidth / width) * 100}%`;
    frame.append(el('div', { class: `layer ${kind}` }, image));
  }
  const range = { type: 'range', min: 0, max: 100, value: 30 };
  const slider = el('input', { ...range, class: 'cut', 'aria-label': 'Before and after' });
  const cut = () => {
    frame.style.setProperty('--cut', `${slider.value}%`);
    slider.setAttribute('aria-valuetext', `${slider.value} % before, ${100 - slider.value} % after`);
  };
  slider.addEventListener('input', cut);
  cut();
  const ends = el('div', { class: 'cut-ends quiet' }, el('span', {}, 'Before'), el('span', {}, 'After'));
  const row = el('div', { class: 'cut-row' }, slider, ends);
  for (const { style } of [frame, row]) {
    style.setProperty('--width', `${width}px`);
    style.setProperty('--aspect', String(width / height));
  }
  return [frame, row];
}

async function picture(blob, alt) {
  const image = el('img', { src: addressFor(blob), alt });
  try {
    await image.decode();
    return image;
  } catch {
    return undefined;
  }
}

function factsOf(name, blob, { naturalWidth, naturalHeight }) {
  const format = blob.type.replace(/^image\/|[+;].*/g, '').toUpperCase() || 'unknown format';
  const facts = `${naturalWidth} × ${naturalHeight} px, ${format}, ${amount(blob.size)}`;
  return el('div', {}, el('dt', { class: 'quiet' }, name), el('dd', {}, facts));
}
