import { setTimeout as sleep } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
const collect: () => void = runInNewContext('gc');

/** Bytes of all ArrayBuffers that something still refers to. */
export function heldMemory(): number {
  collect();
  return process.memoryUsage().arrayBuffers;
}

/**
 * Bytes that are held beyond those of `before`. It gives what the last events of streams and sockets still refer to ten seconds
 * to go, and ends as soon as fewer than `limit` are left.
 */
export async function heldBeyond(before: number, limit: number): Promise<number> {
  let held = heldMemory() - before;
  for (let tries = 0; held >= limit && tries < 500; tries++) {
    await sleep(20);
    held = heldMemory() - before;
  }
  return held;
}
