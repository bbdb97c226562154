import { readFile } from 'node:fs/promises';

/**
 * Reads a codec's module where the build has copied it: left alone it would fetch a file URL, which Node does not do,
 * and write to stdout.
 */
export async function readCodec(name: `@jsquash/${string}`) {
  const file = new URL(`dist/assets/${name}`, import.meta.resolve('helper-gateway/package.json'));
  const quiet = () => {};
  return { wasmBinary: new Uint8Array(await readFile(file)), print: quiet, printErr: quiet };
}

/** The same memory as plain bytes. */
export function asBytes(data: Uint8ClampedArray): Uint8Array {
  return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
}
