/**
 * Prints what three steps in one call cost over HTTP, processor time of the whole gateway for one picture: beside the dearest of them
 * alone, and beside three calls, each of which sends what the one before has answered. `node dist/test/bench/pipeline.js [FILE]`
 */
import { atMost, type Goal, inTurns, printGoals, printTable, ratio } from './measure.js';
import { pictures } from './pictures.js';
import { answerOf, asked, fresh, startGateway, turnMs, upload } from './servers.js';

type Step = { use: string } & Record<string, string | number>;

const mark = { use: 'media/add-watermark', text: '© Example Studio 2026', font_size: 32 };
const frame = { use: 'media/add-border', width: 12, color: 'navy' };
const lists: Record<string, readonly Step[]> = {
  'mark, frame, shrink': [mark, frame, { use: 'media/resize', width: 640 }],
  'crop, mark, frame': [{ use: 'media/crop', left: '4%', width: '90%' }, mark, frame],
};

const { from, sizes } = await pictures(process.argv[2]);
console.log(`  ${from}; ms of CPU for one picture`);
const gateway = await startGateway();
const rows: string[][] = [];
const besideDearest: number[] = [];
const besideThree: number[] = [];
for (const { name, bytes } of sizes) {
  for (const format of ['jpg', 'webp']) {
    for (const [what, steps] of Object.entries(lists)) {
      const whole = upload(`/pipeline?ak=${gateway.key}`, bytes, { steps: JSON.stringify(steps), format });
      const alone = steps.map((step) => callOf(step, bytes, format));
      const chained = [];
      let current = bytes;
      for (const step of steps) {
        const call = callOf(step, current, format);
        chained.push(call);
        current = await answerOf(gateway, call);
      }
      const calls = [whole, ...alone, ...chained.slice(1)];
      const [ours = 0, one = 0, ...others] = (
        await inTurns(
          calls.map((call) => asked(gateway, () => fresh(call))),
          { turnMs },
        )
      ).map(({ cpuMs }) => cpuMs);
      const dearest = Math.max(one, ...others.slice(0, 2));
      const three = others.slice(2).reduce((sum, ms) => sum + ms, one);
      besideDearest.push(ours / dearest);
      besideThree.push(ours / three);
      const ms = [dearest, three].flatMap((other) => [other.toFixed(1), ratio(ours, other)]);
      rows.push([`${name} ${format}, ${what}`, ours.toFixed(1), ...ms]);
    }
  }
}
printTable(['', 'one call', 'dearest alone', '', 'three calls', ''], rows);
const goals: Goal[] = [
  atMost(1.15, 'three steps beside the dearest alone, most', Math.max(...besideDearest), '×'),
  atMost(0.5, 'three steps beside three calls, most', Math.max(...besideThree), '×'),
];
printGoals(goals);
await gateway.close();

function callOf({ use, ...input }: Step, bytes: Uint8Array, format: string) {
  const fields = Object.entries({ ...input, format }).map(([name, value]) => [name, String(value)]);
  return upload(`/${use}?ak=${gateway.key}`, bytes, Object.fromEntries(fields));
}
