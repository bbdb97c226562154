/** Answers as elements: JSON, differences, texts and pictures. Whatever an answer says is text here, never markup. */
import { el } from './dom.js';
import { amount } from './files.js';

const token = /("(?:[^"\\]|\\.)*")(\s*:)?|\b(?:true|false|null)\b|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;
/** Longer, colours cost more than they help. */
const mostColoured = 200_000;

/** JSON, laid out and coloured. */
export function jsonView(value) {
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
    parts.push(
      text.slice(at, match.index),
      el('span', { class: `json-${kind}` }, string ?? whole),
      colon ?? '',
    );
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
export function diffView(text) {
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
export function removedView(before, after) {
  if (before.length > mostMarked || after.length >= before.length) return undefined;
  const parts =
    removedParts(before.match(word) ?? [], after.match(word) ?? []) ?? removedParts([...before], [...after]);
  if (!parts) return undefined;
  return el(
    'p',
    { class: 'marked', dir: 'auto' },
    ...parts.map(({ text, removed }) => (removed ? el('del', {}, text) : text)),
  );
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

export function textView(text) {
  return scrolling(el('code', { dir: 'auto' }, text), 'text', 'Answer as it came');
}

/** What scrolls has to be reachable with the keyboard. */
function scrolling(code, kind, label) {
  return el('pre', { class: `view ${kind}`, tabindex: 0, role: 'region', 'aria-label': label }, code);
}

let addresses = [];

/** An address for bytes, until the next answer is shown. */
export function addressFor(blob) {
  const address = URL.createObjectURL(blob);
  addresses.push(address);
  return address;
}

export function forgetAddresses() {
  for (const address of addresses) URL.revokeObjectURL(address);
  addresses = [];
}

/** The pictures as elements; `before` is undefined where it did not come from this page. */
export async function compareView(before, after) {
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
  const slider = el('input', {
    type: 'range',
    min: 0,
    max: 100,
    value: 30,
    class: 'cut',
    'aria-label': 'Before and after',
  });
  const cut = () => {
    frame.style.setProperty('--cut', `${slider.value}%`);
    slider.setAttribute('aria-valuetext', `${slider.value} % before, ${100 - slider.value} % after`);
  };
  slider.addEventListener('input', cut);
  cut();
  const ends = el('div', { class: 'cut-ends' }, el('span', {}, 'Before'), el('span', {}, 'After'));
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
  const format = blob.type
    .replace(/^image\//, '')
    .replace(/[+;].*/, '')
    .toUpperCase();
  return el(
    'div',
    {},
    el('dt', {}, name),
    el(
      'dd',
      {},
      `${naturalWidth} × ${naturalHeight} px, ${format || 'unknown format'}, ${amount(blob.size)}`,
    ),
  );
}
