/**
 * Attacks gateways for as long as one likes and prints what held: `npm run soak -- --minutes N [--only TEXT] [--seed N] [--calls N]`. At
 * least one round is made; the calls are those of each scenario in place of its own number. Ends with 1 where something did not hold.
 */
import { parseArgs } from 'node:util';
import { rounds } from './attacks/all.js';
import { heading, row, runScenario } from './scenario.js';

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '1' },
    only: { type: 'string', default: '' },
    calls: { type: 'string' },
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
  },
});
const end = performance.now() + Number(values.minutes) * 60_000;
const chosen = rounds.filter(
  ({ scenario, long }) => (values.only !== '' || !long) && scenario.name.includes(values.only),
);
if (chosen.length === 0) throw new Error(`no scenario's name has "${values.only}" in it`);

console.log(
  `seed ${values.seed}; good calls are those that should be served; healthz may take 50 ms, without what the machine took\n`,
);
console.log(heading);
let failed = 0;
for (let round = 0; round === 0 || performance.now() < end; round += 1) {
  for (const { scenario, calls, seconds } of chosen) {
    if (round > 0 && performance.now() >= end) break;
    const report = await runScenario(scenario, {
      scale: { calls: Number(values.calls ?? calls), seconds },
      seed: Number(values.seed) + round,
    });
    console.log(row(report));
    if (report.problems.length > 0) failed += 1;
  }
}
console.log(failed === 0 ? '\neverything held' : `\n${failed} did not hold`);
process.exitCode = failed === 0 ? 0 : 1;
