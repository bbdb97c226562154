/**
 * Prints what a watermark costs over HTTP, processor time of the whole gateway for one picture, beside a bare loop on tuned sharp that
 * decodes and encodes and draws nothing. `node dist/test/bench/watermark.js [FILE]`
 */
import sharp from 'sharp';
import { formats, loop, tuned } from './bare-loop.js';
import { atMost, type Goal, geometricMean, inTurns, printGoals, printTable, ratio } from './measure.js';
import { pictures } from './pictures.js';
import { asked, fresh, startGateway, turnMs, upload } from './servers.js';

/** What is drawn; all else is the helper's default. */
const text = '© Example Studio 2026';
/** Of the plain re-encode's cost, for the large picture and the small one. */
const bounds = [1.25, 2];

const { from, sizes } = await pictures(process.argv[2]);
console.log(`  ${from}; one line of text; ms of CPU for one picture`);
const gateway = await startGateway();
const rows: string[][] = [];
const goals: Goal[] = [];
for (const [at, { name, bytes }] of sizes.entries()) {
  const ofSize: number[] = [];
  for (const format of formats) {
    const fields = { text, font_size: '32', format };
    const call = upload(`/media/add-watermark?ak=${gateway.key}`, bytes, fields);
    const [{ cpuMs: ours }, { cpuMs: plain }] = await inTurns(
      [asked(gateway, () => fresh(call)), loop(() => tuned[format](sharp(bytes).autoOrient()).toBuffer())],
      { turnMs },
    );
    ofSize.push(ours / plain);
    rows.push([`${name} ${format}`, ours.toFixed(1), plain.toFixed(1), ratio(ours, plain)]);
  }
  const what = `watermark beside a plain re-encode, ${name}, geometric mean`;
  goals.push(atMost(bounds[at] ?? 0, what, geometricMean(ofSize), '×'));
}
printTable(['', 'gateway', 're-encoded', ''], rows);
printGoals(goals);
await gateway.close();
