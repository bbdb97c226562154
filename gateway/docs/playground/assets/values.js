/** Values as texts and back, by the types that a schema names. Without a page, so that they can be tested without one. */

const decimal = /^-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/** What a text stands for. One that fits none of the types stays text: the gateway says what is wrong with it. */
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
export function textOf(value) {
  return typeof value === 'string' ? value : value === undefined ? '' : JSON.stringify(value);
}

/** Whether two JSON values are the same. */
export function isSame(one, other) {
  return JSON.stringify(one) === JSON.stringify(other);
}
