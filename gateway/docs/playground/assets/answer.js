/** Shows the answer of a call. */
import { byId, el } from './dom.js';
import { amount, filesOf } from './files.js';
import { showKeyProblem, showProblems } from './problems.js';
import {
  addressFor,
  compareView,
  diffView,
  forgetAddresses,
  isDiff,
  jsonView,
  removedView,
  textView,
} from './views.js';

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
  const line = [
    el('span', { class: `state ${status < 400 ? 'good' : 'bad'}` }, `${status} ${code}`),
    ...facts.map((fact) => el('span', { class: 'fact' }, fact)),
  ];
  const id = headers.get('x-request-id');
  if (id) line.push(el('span', { class: 'fact request-id' }, 'request ', el('code', {}, id)));
  byId('status').replaceChildren(...line);
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
  const entries = typeof data === 'object' && data !== null ? Object.entries(data) : [];
  const diffs = entries.filter(([, value]) => isDiff(value)).map(([, value]) => diffView(value));
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
  return el(
    'p',
    {},
    el(
      'a',
      { class: 'button quiet-button small', href: addressFor(bytes), download: name },
      `Download ${name}`,
    ),
  );
}

/** The ending of a file's name for a media type. */
function endingOf(type) {
  const subtype = type.split('/')[1]?.replace(/^x-|[+;].*/g, '') || 'bin';
  return (
    { jpeg: 'jpg', plain: 'txt', javascript: 'js', svg: 'svg', 'octet-stream': 'bin' }[subtype] ?? subtype
  );
}
