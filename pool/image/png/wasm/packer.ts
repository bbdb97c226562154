/**
 * The loops of the PNG encoder, in AssemblyScript, 16 bytes at a time. All memory is laid out by the caller; nothing is
 * allocated. `npm run packer` makes packer.wasm of it, which is kept beside it; a test holds the two together.
 */
export { adler } from './adler';
export { filter } from './filter';
export { priceOfMatches } from './matches';
export { align, begin, count, out, pack, put } from './pack';
