import fc from 'fast-check';

const surrogates = { from: 0xd800, count: 0x800 };

/**
 * Any character of Unicode, as the `unit` of a text. fast-check's own "binary" takes a second of CPU in each process, for tables of
 * all characters.
 */
export const anyCharacter = fc
  .integer({ min: 0, max: 0x10ffff - surrogates.count })
  .map((code) => String.fromCodePoint(code < surrogates.from ? code : code + surrogates.count));
