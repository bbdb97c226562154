import type { RawInput } from './judge-input.js';

/** Bytes of text that are decoded, parsed and judged in some milliseconds at the most. */
export const lightBytes = 64 * 1024;

/** Elements of lists likewise: to say what is wrong with one takes longer than to read it, 10 to 25 µs. */
const lightElements = 500;

const comma = 0x2c;

/** Whether an input may be judged where others wait: it is small, and holds few elements as far as its commas tell. */
export function isLight({ query, body }: Pick<RawInput, 'query' | 'body'>): boolean {
  const pieces = body === undefined ? [] : body.kind === 'fields' ? [...body.fields.values()] : [body.bytes];
  if (pieces.reduce((sum, { length }) => sum + length, 0) > lightBytes) return false;
  let commas = 0;
  for (const bytes of pieces) for (const byte of bytes) if (byte === comma) commas += 1;
  for (const value of query.values.values()) commas += value.split(',', lightElements + 2).length - 1;
  return commas <= lightElements;
}
