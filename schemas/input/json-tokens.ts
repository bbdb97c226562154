/** Where JSON's numbers, literals and escapes end, in bytes; of what is none, the place of the byte that is wrong. */
export type TokenEnd = { end: number } | { wrong: number };

const literals = ['true', 'false', 'null'].map((text) => Buffer.from(text));
const escapes = Buffer.from('"\\/bfnrtu');

export function endOfNumber(bytes: Uint8Array, start: number): TokenEnd {
  let at = bytes[start] === 0x2d ? start + 1 : start;
  const digits = () => {
    if (!isDigit(bytes[at])) return false;
    while (isDigit(bytes[at])) at += 1;
    return true;
  };
  if (bytes[at] === 0x30) at += 1;
  else if (!digits()) return { wrong: at };
  if (bytes[at] === 0x2e) {
    at += 1;
    if (!digits()) return { wrong: at };
  }
  if (bytes[at] === 0x65 || bytes[at] === 0x45) {
    at += bytes[at + 1] === 0x2b || bytes[at + 1] === 0x2d ? 2 : 1;
    if (!digits()) return { wrong: at };
  }
  return { end: at };
}

export function endOfLiteral(bytes: Uint8Array, start: number): TokenEnd {
  const found = literals.find((literal) => literal.equals(bytes.subarray(start, start + literal.length)));
  return found ? { end: start + found.length } : { wrong: start };
}

/** The end of an escape whose backslash is at `start`. */
export function endOfEscape(bytes: Uint8Array, start: number): TokenEnd {
  const escaped = bytes[start + 1];
  if (escaped === undefined || !escapes.includes(escaped)) return { wrong: start + 1 };
  if (escaped !== 0x75) return { end: start + 2 };
  for (let at = start + 2; at < start + 6; at += 1) if (!isHex(bytes[at])) return { wrong: at };
  return { end: start + 6 };
}

export function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= 0x30 && byte <= 0x39;
}

function isHex(byte: number | undefined): boolean {
  if (byte === undefined) return false;
  // Bit 0x20 makes a capital letter small.
  return isDigit(byte) || ((byte | 0x20) >= 0x61 && (byte | 0x20) <= 0x66);
}
