import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
const collect: () => void = runInNewContext('gc');

/** Bytes of all ArrayBuffers that something still refers to. */
export function heldMemory(): number {
  collect();
  return process.memoryUsage().arrayBuffers;
}
