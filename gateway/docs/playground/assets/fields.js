/** The form's fields: what they hold as the input of a call, and as texts for the address. */
import { all } from './dom.js';

/** What is a form's own. A step of it is read as a form by itself. */
function ownOf(form, selector) {
  return all(selector, form).filter((each) => each.closest('[data-step], form') === form);
}

/** The fields that count now: those of an alternative that is not chosen do not, nor what goes with other values than there are. */
export function activeFields(form) {
  return ownOf(form, '.field[data-path]').filter(
    (field) => field.closest('[data-variant][hidden]') === null && !isIdle(form, field),
  );
}

/** Whether the conditions of a field, or of the group around it, are not met now. */
export function isIdle(form, field, around = []) {
  const place = field.closest('[data-only]');
  // Of two that ask for each other, neither is there.
  if (place === null || around.includes(place)) return place !== null;
  return JSON.parse(place.dataset.only).some(({ parameter, values }) => {
    const other = ownOf(form, '.field[data-path]').find(({ dataset }) => dataset.path === parameter);
    if (other === undefined) return false;
    const value = isIdle(form, other, [...around, place]) ? defaultOf(other) : shownBy(other);
    return !values.some((each) => String(each) === value);
  });
}

/** What a field says, be it its default. */
function shownBy(field) {
  const { value, checked } = inputOf(field);
  if (field.dataset.kind === 'switch') return String(checked);
  return value === '' ? textOf(defaultOf(field)) : value.trim().toLowerCase();
}

/** Where the value of a field is typed; a file's is its url. */
export function inputOf(field) {
  return field.querySelector('[data-url]') ?? field.querySelector('[data-input]');
}

function defaultOf(field) {
  return field.dataset.default === undefined ? undefined : JSON.parse(field.dataset.default);
}

/** What a field holds; undefined where it holds nothing that would have to be sent. */
function valueIn(field) {
  const { kind, types = '', empty, required } = field.dataset;
  const input = inputOf(field);
  const preset = defaultOf(field);
  const names = types.split(' ');
  if (kind === 'switch') {
    const isGiven = required !== undefined || input.checked !== (preset ?? false);
    return isGiven ? input.checked : undefined;
  }
  const text = input.value;
  if (kind === 'list') {
    const items = itemsOf(text, names);
    return isSame(items, preset ?? (required === undefined ? [] : undefined)) ? undefined : items;
  }
  if (kind === 'file') return text.trim() || undefined;
  if (text === '' && empty === undefined) return undefined;
  const value = kind === 'json' ? jsonOf(text) : scalarOf(text, names);
  return isSame(value, preset) ? undefined : value;
}

/** The input of a call: what differs from the defaults, nested as its paths say. Files are not in it. */
export function readInput(form) {
  const input = {};
  for (const group of ownOf(form, 'fieldset[data-kind="group"][data-required]')) {
    if (group.closest('[data-variant][hidden]') === null && !isIdle(form, group))
      put(input, group.dataset.path, {});
  }
  for (const field of activeFields(form)) {
    const value = valueIn(field);
    if (value !== undefined) put(input, field.dataset.path, value);
  }
  return input;
}

/** Puts a value where its path leads: `size.width` into `size`. */
function put(input, path, value) {
  const names = path.split('.');
  const last = names.pop();
  let place = input;
  for (const name of names) {
    place[name] ??= {};
    place = place[name];
  }
  place[last] ??= value;
}

/** The same as texts by path, in the order of the form, for the address. */
export function readTexts(form) {
  const texts = new Map();
  for (const field of activeFields(form)) {
    if (valueIn(field) === undefined) continue;
    const input = inputOf(field);
    const text = field.dataset.kind === 'switch' ? String(input.checked) : input.value;
    // An empty text that is sent only because it is required is no text of the address.
    if (text !== '' || defaultOf(field) !== undefined) texts.set(field.dataset.path, text);
  }
  return texts;
}

/** Resets every field, and fills in these values by path, which may be texts. */
export function fillForm(form, values) {
  const given = new Map(flat(form, values));
  // The field that chooses an alternative precedes those in it.
  for (const field of ownOf(form, '.field[data-path]')) {
    const { path, kind } = field.dataset;
    const value = given.has(path) ? given.get(path) : defaultOf(field);
    setField(field, kind === 'list' && Array.isArray(value) ? textOfItems(value) : textOf(value));
  }
}

/** An object, or its JSON, that has fields of its own is split into them. */
function flat(form, values) {
  const found = [];
  const add = (path, value) => {
    const group = ownOf(form, 'fieldset[data-path]').find(({ dataset }) => dataset.path === path);
    const object = group && typeof value === 'string' ? jsonOf(value) : value;
    if (group && typeof object === 'object' && object !== null) {
      for (const [name, member] of Object.entries(object)) add(`${path}.${name}`, member);
    } else found.push([path, value]);
  };
  for (const [path, value] of values) add(path, value);
  return found;
}

/** As if it were typed, so that controls beside it follow. */
function setField(field, text) {
  const input = inputOf(field);
  if (field.dataset.kind === 'switch') input.checked = text === 'true' || text === '1';
  else input.value = field.dataset.kind === 'choice' ? optionFor(input, text) : text;
  input.dispatchEvent(new Event('filled'));
}

/** The option that a text means, in any spelling that the gateway accepts. */
function optionFor(select, text) {
  const wanted = text.toLowerCase();
  const spellings = ({ value, dataset }) => [value.toLowerCase(), ...(dataset.aliases ?? '').split(' ')];
  return [...select.options].find((option) => spellings(option).includes(wanted))?.value ?? text;
}

// Values as texts and back, by the types that a schema names.

const decimal = /^-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/** The value of a text. One that fits none of the types stays text: the gateway reports the problem. */
export function scalarOf(text, types) {
  const plain = text.trim();
  // JSON has no number as large as 1e999: it would be sent as null.
  const isNumber = decimal.test(plain) && Number.isFinite(Number(plain));
  if ((types.includes('number') || types.includes('integer')) && isNumber) return Number(plain);
  if (types.includes('boolean') && (plain === 'true' || plain === 'false')) return plain === 'true';
  if (types.includes('null') && plain === 'null') return null;
  return text;
}

/** Items with commas between them, or a JSON list where there is a comma in one of them. */
export function itemsOf(text, types) {
  const plain = text.trim();
  if (plain === '') return [];
  if (plain.startsWith('[')) return jsonOf(plain);
  return plain.split(',').map((item) => scalarOf(item.trim(), types));
}

/** JSON, or the text itself where it is none. */
export function jsonOf(text) {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** A list as it is typed. */
export function textOfItems(items) {
  const isPlain = items.every((item) => typeof item !== 'object' && !/[,[]|^\s|\s$|^$/.test(String(item)));
  return isPlain ? items.join(', ') : JSON.stringify(items);
}

/** A value as it is typed into a control that holds one. */
function textOf(value) {
  return typeof value === 'string' ? value : value === undefined ? '' : JSON.stringify(value);
}

/** Whether two JSON values are the same. */
function isSame(one, other) {
  return JSON.stringify(one) === JSON.stringify(other);
}

/** The fragment for texts by name. */
export function fragmentOf(texts) {
  // A `+` for a space is a form's rule: what is sent by chat or mail is better off with %20.
  return new URLSearchParams([...texts]).toString().replaceAll('+', '%20');
}

/** The texts in a fragment. */
export function textsIn(fragment) {
  return new Map(new URLSearchParams(fragment.replace(/^#/, '')));
}
