import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';

/** What a codec of @jsquash is started with. */
interface ModuleOptions {
  wasmBinary: Uint8Array;
  print: () => void;
  printErr: () => void;
}

/**
 * Reads the module of a codec, e.g. `@jsquash/webp/codec/dec/webp_dec.wasm`. Left alone a codec would fetch it from a file URL, which
 * Node does not do, and write what it thinks of a picture to stdout.
 */
export async function readCodec(name: `@jsquash/${string}`): Promise<ModuleOptions & object> {
  const path = createRequire(import.meta.url).resolve(name);
  const quiet = () => {};
  return { wasmBinary: new Uint8Array(await readFile(path)), print: quiet, printErr: quiet };
}

/** The same memory as plain bytes. */
export function asBytes(data: Uint8ClampedArray): Uint8Array {
  return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
}
