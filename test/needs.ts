import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { Context } from 'mocha';

/** Skips the suite with one line that says what is missing; with `CI_REQUIRE_ALL=1` that is a failure. */
export function skipWithout(context: Context, what: string): never {
  if (process.env.CI_REQUIRE_ALL === '1') throw new Error(`needs ${what}`);
  console.log(`      skipped: needs ${what}`);
  return context.skip();
}

/** The path of a file of a package that CI alone installs, into the folder `TEST_TOOLS`. Without that the suite is skipped. */
export function toolFile(context: Context, file: string): string {
  const { TEST_TOOLS: folder } = process.env;
  return folder ? join(folder, 'node_modules', file) : skipWithout(context, `${file} in TEST_TOOLS`);
}

type Truthy<T> = Exclude<T, undefined | null | false | 0 | ''>;

/**
 * Waits until something is so, however long a busy machine takes; where it never is, the test ends by its own time limit.
 * Gives what the condition gave. It keeps no process alive.
 */
export async function until<T>(condition: () => T | Promise<T>): Promise<Truthy<T>> {
  for (;;) {
    const found = await condition();
    if (found) return found as Truthy<T>;
    await sleep(5, undefined, { ref: false });
  }
}

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

/** Ports that are free now, and that no system gives to a process that asks for any: those of Linux begin at 32768, of others higher. */
export async function freePorts(count: number): Promise<number[]> {
  const ports = new Set<number>();
  while (ports.size < count) {
    const port = randomInt(16_000, 32_000);
    if (await isFree(port)) ports.add(port);
  }
  return [...ports];
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer().listen(port, '127.0.0.1');
  const listens = await once(server, 'listening').then(
    () => true,
    () => false,
  );
  if (listens) await once(server.close(), 'close');
  return listens;
}
