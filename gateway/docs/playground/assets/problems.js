/** What the gateway found wrong, beside the field that it is about. */

import { all, byId, el } from './dom.js';
import { activeFields, inputOf } from './fields.js';

export function clearProblems(form) {
  for (const input of all('[aria-invalid]', form)) unmark(input);
  const list = byId('problems');
  list.replaceChildren();
  list.hidden = true;
}

/** Marks each field; other problems are listed above the form. Moves the focus to the first. */
export function showProblems(form, problems) {
  clearProblems(form);
  const rest = [];
  for (const { field, problem } of problems) {
    const input = inputFor(form, field);
    // The number of a step changes with its place, and stands above it.
    if (input) mark(input, `${field.replace(/^steps\.\d+\.?/, '')} ${problem}`.trim());
    else rest.push(el('li', {}, el('code', {}, field), ` ${problem}`));
  }
  const list = byId('problems');
  list.replaceChildren(...rest);
  list.hidden = rest.length === 0;
  focusFirst(form);
}

/** A problem with the key, at its field: the form has no header to change. */
export function showKeyProblem(form, { code, message }) {
  if (!/^key_(?:missing|invalid|expired|revoked)$/.test(code)) return;
  mark(byId('key'), code === 'key_missing' ? 'Paste your API key here: one key, without spaces.' : message);
  focusFirst(form);
}

/** A key that no header can carry: the browser would refuse to send it, and say nothing of why. */
export function refuseKey(form, key) {
  if (/^[\x21-\x7e]*$/.test(key)) return false;
  mark(byId('key'), 'A key is made of plain letters, digits and signs. Check that it was copied whole.');
  focusFirst(form);
  return true;
}

function focusFirst(form) {
  const list = byId('problems');
  const first = form.querySelector('[aria-invalid]');
  if (first) first.focus();
  else if (!list.hidden) list.focus();
}

/** The problem of a field is over once it is changed. */
export function forgetOnChange(form) {
  form.addEventListener('input', ({ target }) => {
    const marked = target.closest?.('[aria-invalid]');
    if (marked) unmark(marked);
  });
}

/** The control for a field, or for what it is a part of: `list.0.k` belongs to `list`, where that is one control. */
function inputFor(form, path) {
  const [, at, inner] = /^steps\.(\d+)[.[]?(.*)$/.exec(path) ?? [];
  const step = all('[data-step]', form)[at];
  if (step) return inputFor(step, inner) ?? step;
  const inputs = [...all('[data-file] [data-input]', form), ...activeFields(form).map(inputOf)];
  for (let part = path; part !== ''; part = part.replace(/[.[][^.[]*$|^[^.[]*$/, '')) {
    const found = inputs.find(({ dataset }) => dataset.input === part);
    if (found) return found.type === 'hidden' ? byId(found.dataset.shownBy) : found;
  }
  // Of a group that is missing as a whole, the first field of it.
  return inputs.find(({ dataset }) => dataset.input.startsWith(`${path}.`));
}

function mark(input, text) {
  const id = `${input.id}-problem`;
  const known = byId(id);
  if (known) {
    known.append(el('br'), text);
    return;
  }
  const place = input.closest('.beside, .drop, .switch-row') ?? input.querySelector('legend') ?? input;
  place.after(el('p', { class: 'problem', id }, text));
  input.setAttribute('aria-invalid', 'true');
  input.dataset.described = input.getAttribute('aria-describedby') ?? '';
  input.setAttribute('aria-describedby', `${id} ${input.dataset.described}`.trim());
}

function unmark(input) {
  byId(`${input.id}-problem`)?.remove();
  input.removeAttribute('aria-invalid');
  input.setAttribute('aria-describedby', input.dataset.described);
}
