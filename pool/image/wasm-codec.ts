import { readFile } from 'node:fs/promises';

/** What a codec of @jsquash is started with. */
interface ModuleOptions {
  wasmBinary: Uint8Array;
  print: () => void;
  printErr: () => void;
}

/**
 * Reads the module of a codec, e.g. `@jsquash/webp/webp_dec.wasm`, where the build has copied it. Left alone a codec would fetch it
 * from a file URL, which Node does not do, and write what it thinks of a picture to stdout.
 */
export async function readCodec(name: `@jsquash/${string}`): Promise<ModuleOptions & object> {
  const file = new URL(`dist/assets/${name}`, import.meta.resolve('helper-gateway/package.json'));
  const quiet = () => {};
  return { wasmBinary: new Uint8Array(await readFile(file)), print: quiet, printErr: quiet };
}

/** The same memory as plain bytes. */
export function asBytes(data: Uint8ClampedArray): Uint8Array {
  return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
}
