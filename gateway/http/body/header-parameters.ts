/** A header's value as `form-data; name="a"` is read: what stands before the first `;` in lower case, and the parameters. */
export interface HeaderValue {
  value: string;
  /** By name in lower case, the first of each. */
  parameters: Map<string, string>;
}

/**
 * Reads a header's value with parameters, in time linear in its length; undefined for what is malformed. A quote inside a quoted
 * value comes in two ways: as `\"` (RFC 9110, old curl), or as `%22` with backslashes that mean themselves (browsers). So
 * `\"` is taken for a quote, unless the rest makes sense only where the backslash is the last character of the value. Own code
 * because packages for these headers know the first way alone.
 */
export function parseHeaderValue(text: string): HeaderValue | undefined {
  const end = text.indexOf(';');
  const value = (end < 0 ? text : text.slice(0, end)).trim().toLowerCase();
  if (end < 0) return { value, parameters: new Map() };
  const parameters = readParameters(text, end, true) ?? readParameters(text, end, false);
  return parameters && { value, parameters };
}

function readParameters(text: string, from: number, escapes: boolean): Map<string, string> | undefined {
  const parameters = new Map<string, string>();
  let at = from;
  while (at < text.length) {
    if (text[at] !== ';') return undefined;
    at = skipSpace(text, at + 1);
    // A semicolon at the end, or two in a row, separate nothing.
    if (at === text.length || text[at] === ';') continue;
    const equals = text.indexOf('=', at);
    if (equals < 0) return undefined;
    const name = text.slice(at, equals).toLowerCase();
    if (!token.test(name)) return undefined;
    const quoted = text[equals + 1] === '"';
    const end = quoted ? closingQuote(text, equals + 2, escapes) : endOfPlain(text, equals + 1);
    if (end < 0) return undefined;
    const raw = text.slice(equals + (quoted ? 2 : 1), end);
    if (!parameters.has(name)) parameters.set(name, escapes ? raw.replaceAll('\\"', '"') : raw);
    at = skipSpace(text, quoted ? end + 1 : end);
  }
  return parameters;
}

/** A token's characters (RFC 9110, 5.6.2), which is what a header's and a parameter's name are made of. */
export const token = /^[\w!#$%&'*+.^`|~-]+$/;

function skipSpace(text: string, from: number): number {
  let at = from;
  while (text[at] === ' ' || text[at] === '\t') at += 1;
  return at;
}

function endOfPlain(text: string, from: number): number {
  let at = from;
  while (at < text.length && text[at] !== ';' && text[at] !== ' ' && text[at] !== '\t') at += 1;
  return at;
}

function closingQuote(text: string, from: number, escapes: boolean): number {
  if (!escapes) return text.indexOf('"', from);
  let at = from;
  while (at < text.length && text[at] !== '"') at += text[at] === '\\' ? 2 : 1;
  return at < text.length ? at : -1;
}
