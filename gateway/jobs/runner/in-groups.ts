import { isAway } from './patience.js';

/**
 * Does for many together what was asked for while the last was under way: each commit waits for a disk. Where a group fails that
 * was asked wrongly, each of it is done alone, so that one spoils nothing for the others. Each gets what `work` gave for its group.
 */
export function createGroups<T, R = void>(
  work: (all: readonly T[]) => Promise<R>,
  most: number,
): (one: T) => Promise<R> {
  interface Waiting {
    one: T;
    resolve(result: R): void;
    reject(error: unknown): void;
  }
  let waiting: Waiting[] = [];
  let running = false;

  async function settle(group: readonly Waiting[]): Promise<void> {
    try {
      const result = await work(group.map(({ one }) => one));
      for (const { resolve } of group) resolve(result);
    } catch (error) {
      if (group.length === 1 || isAway(error)) for (const { reject } of group) reject(error);
      else for (const each of group) await settle([each]);
    }
  }

  async function workOff(): Promise<void> {
    running = true;
    // What is asked for in the same moment goes together.
    await Promise.resolve();
    while (waiting.length > 0) {
      const group = waiting.slice(0, most);
      waiting = waiting.slice(most);
      await settle(group);
    }
    running = false;
  }

  return (one) =>
    new Promise((resolve, reject) => {
      waiting.push({ one, resolve, reject });
      if (!running) void workOff();
    });
}
