/**
 * Prints how long a quiet tenant waits while a noisy one floods the pool: for a picture, beside 60 clients that want pictures, and for
 * tiny text calls, beside heavy diffs. By the clock, so it wants a machine with nothing else to do. `node dist/test/bench/quiet.js [FILE]`
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { type Call, createClient, inParallel } from '../soak/client.js';
import { createRandom } from '../soak/mutate.js';
import { percentile } from '../soak/scenario.js';
import { atMost, printGoals, printTable, ratio } from './measure.js';
import { pictures } from './pictures.js';
import { fresh, startGateway, upload } from './servers.js';

const gateway = await startGateway();
const quietKey = await gateway.issueKey('quiet');
const client = createClient(gateway.url, 1);

/** Makes a call, which may be another each time. */
type Wanted = () => Call;

/** Milliseconds of these calls, one after the other. */
async function timesOf(call: Wanted, times: number): Promise<number[]> {
  const taken: number[] = [];
  for (let done = 0; done < times; done += 1) {
    const { status, ms } = await client.call(call());
    if (status !== 200) throw new Error(`a quiet call was answered ${status}`);
    taken.push(ms);
  }
  return taken;
}

/** What the quiet tenant's calls take alone, and while the noisy one keeps so many of its own under way. */
async function besideNoise(call: Wanted, times: number, noise: { call: Wanted; clients: number }) {
  await timesOf(call, 5);
  const alone = await timesOf(call, times);
  const noisy = createClient(gateway.url, noise.clients, 120_000);
  let goesOn = true;
  const endless = { at: noise.clients, times: Number.POSITIVE_INFINITY, goesOn: () => goesOn };
  const noisyMs: number[] = [];
  const flood = inParallel(endless, async () => noisyMs.push((await noisy.call(noise.call())).ms));
  await sleep(1500);
  const crowded = await timesOf(call, times);
  goesOn = false;
  await flood;
  noisy.close();
  return { alone, crowded, noisyMs };
}

function row(what: string, { alone, crowded, noisyMs }: Awaited<ReturnType<typeof besideNoise>>): string[] {
  const ms = (values: readonly number[]) =>
    `${percentile(values, 0.5).toFixed(1)} / ${percentile(values, 0.99).toFixed(1)}`;
  const worse = ratio(percentile(crowded, 0.5), percentile(alone, 0.5));
  return [what, ms(alone), ms(crowded), worse, ms(noisyMs)];
}

/** Two texts that have little in common, of few words: the search is long. */
function heavyDiff(): string {
  const { below } = createRandom(7);
  const text = () => Array.from({ length: 4000 }, () => `line ${below(10)}`).join('\n');
  return JSON.stringify({ a: text(), b: text() });
}

const { sizes } = await pictures(process.argv[2]);
const bytes = sizes[0]?.bytes ?? new Uint8Array();
const border = (key: string) => {
  const call = upload(`/media/add-border?ak=${key}`, bytes, { format: 'webp' });
  return () => fresh(call);
};
const picture = await besideNoise(border(quietKey), 9, { call: border(gateway.key), clients: 60 });

const diff = (key: string) => `/text/diff-two-strings?ak=${key}`;
const tiny = { path: diff(quietKey), body: JSON.stringify({ a: 'one\ntwo\nthree', b: 'one\n2\nthree' }) };
const heavy = { path: diff(gateway.key), body: heavyDiff() };
const text = await besideNoise(() => tiny, 10 * 50, { call: () => heavy, clients: 8 });

printTable(
  ['ms, p50 / p99', 'alone', 'beside noise', '', 'a noisy call'],
  [
    row('a WebP border, beside 60 clients', picture),
    row('50 tiny diffs, ten times, beside heavy ones', text),
  ],
);
printGoals([atMost(30, 'p99 of tiny calls during heavy diffs', percentile(text.crowded, 0.99), 'ms')]);
client.close();
await gateway.close();
