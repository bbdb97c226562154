import { hasOwnJson, insteadOfLost, lostInJson } from './json-data.js';

/** No result that makes sense is deeper; one that holds itself is without end. */
const deepest = 200;

/**
 * Bytes of a value as JSON in UTF-8, at least, and not counted further than `most`: a megabyte of control characters becomes
 * six, and is to be refused before they are made. Throws for a value that is too deep or holds itself, and names the place
 * of what is no data.
 */
export function jsonSize(value: unknown, most: number): number {
  let size = 0;
  const path: string[] = [];

  function add(given: unknown): void {
    if (size > most) return;
    requireData(given);
    // Asked once, as JSON.stringify does.
    const part = hasOwnJson(given) ? given.toJSON(path.at(-1) ?? '') : given;
    if (part !== given) requireData(part);
    if (typeof part === 'string') size += 2 + stringSize(part);
    else if (typeof part !== 'object' || part === null) size += 4;
    else {
      if (path.length > deepest)
        throw new Error(`the result is nested more than ${deepest} levels deep, or holds itself`);
      for (const [key, item] of Object.entries(part)) {
        size += Array.isArray(part) ? 1 : 4 + key.length;
        path.push(key);
        add(item);
        path.pop();
        if (size > most) return;
      }
    }
  }

  function requireData(part: unknown): void {
    const lost = lostInJson(part);
    if (lost === undefined) return;
    const place = path.join('.').slice(0, 200) || 'it';
    throw new Error(`the result must be data, but ${place} is ${lost}${insteadOfLost(part)}`);
  }

  add(value);
  return size;
}

function stringSize(text: string): number {
  let size = Buffer.byteLength(text);
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code < 0x20) size += code >= 8 && code <= 13 && code !== 11 ? 1 : 5;
    else if (code === 0x22 || code === 0x5c) size += 1;
  }
  return size;
}
