import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fixture } from '../fixtures.js';

/** What a gateway needs for `holdCall`: the helper, and more time than any test takes. */
export const holding = { HELPER_PLUGINS: fixture('plugins/pool'), HELPER_TASK_TIMEOUT_MS: '60000' };

/** Makes a call and waits until its helper is at work; the call ends when what this gives is called, which gives the answer. */
export async function holdCall(url: string, key: string, folder: string): Promise<() => Promise<Response>> {
  const file = join(folder, 'held');
  const answer = fetch(`${url}/hold?${new URLSearchParams({ file, ak: key })}`);
  let early: string | undefined;
  answer.then(
    ({ status }) => {
      early = String(status);
    },
    (error) => {
      early = String(error);
    },
  );
  while (!existsSync(file)) {
    if (early !== undefined) throw new Error(`the call that was to be held ended: ${early}`);
    await sleep(20);
  }
  return async () => {
    await rm(file);
    return answer;
  };
}

/** Until nobody new is let in any more. */
export async function closed(url: string): Promise<void> {
  const refuses = () =>
    fetch(`${url}/healthz`).then(
      () => false,
      () => true,
    );
  while (!(await refuses())) await sleep(20);
}
