/**
 * Prints what a watermark costs over HTTP, processor time of the whole gateway for one picture, beside a bare loop on tuned sharp that
 * decodes and encodes and draws nothing. `node dist/test/bench/watermark.js [FILE]`
 */
import sharp from 'sharp';
import { formats, loop, tuned } from './bare-loop.js';
import { inTurns, printGoals, printTable, ratio } from './measure.js';
import { pictures } from './pictures.js';
import { asked, fresh, startGateway, turnMs, upload } from './servers.js';
import { watermark, watermarkGoals } from './watermarks.js';

const { from, sizes } = await pictures(process.argv[2]);
console.log(`  ${from}; one line of text; ms of CPU for one picture`);
const gateway = await startGateway();
const rows: string[][] = [];
const ratios: number[][] = [];
for (const { name, bytes } of sizes) {
  const ofSize: number[] = [];
  for (const format of formats) {
    const { text, fontSize } = watermark;
    const fields = { text, font_size: String(fontSize), format };
    const call = upload(`/media/add-watermark?ak=${gateway.key}`, bytes, fields);
    const [ours, plain] = await inTurns(
      [asked(gateway, () => fresh(call)), loop(() => tuned[format](sharp(bytes).autoOrient()).toBuffer())],
      { turnMs },
    );
    ofSize.push(ours.cpuMs / plain.cpuMs);
    rows.push([
      `${name} ${format}`,
      ours.cpuMs.toFixed(1),
      plain.cpuMs.toFixed(1),
      ratio(ours.cpuMs, plain.cpuMs),
    ]);
  }
  ratios.push(ofSize);
}
printTable(['', 'gateway', 're-encoded', ''], rows);
console.log('');
printGoals(watermarkGoals('over HTTP', sizes, ratios));
await gateway.close();
