/** Prints what many gateways need of what they stand on: `npm run simulate`; `-- --measure` measures the services here first. */
import { printTable } from '../bench/measure.js';
import { demandOf, kinds, limitsOf, peakCalls } from './demand.js';
import type { Tally } from './fleet.js';
import { type Input, type Measured, meanMs, measured, product, world } from './measure.js';
import { simulateDay, simulateHotTenant, simulateLostZone } from './worlds.js';

const sizes = [1, 3, 10, 30, 100, 300, 1000];

const from: Measured = { ...measured };
if (process.argv.includes('--measure')) {
  const { measureHere } = await import('./measure.js');
  for (const [name, value] of Object.entries(await measureHere())) {
    const key = name as keyof Measured;
    from[key] = { value, unit: measured[key].unit, source: 'measured now, here' };
  }
}

const number = (value: number, digits = 0) =>
  value.toLocaleString('en-GB', { minimumFractionDigits: digits, maximumFractionDigits: digits });
const short = (value: number) => value.toLocaleString('en-GB', { maximumSignificantDigits: 3 });
const percent = (part: number, all: number) => `${number(all === 0 ? 0 : (100 * part) / all, 2)} %`;
const ms = (tally: Tally, part: number) => `${number(tally.waitMs(part))} ms`;

function heading(text: string): void {
  console.log(`\n${text}\n`);
}

heading('What it is fed with');
const inputs: [string, Input][] = Object.entries({ ...from, ...product, ...world });
printTable(
  ['input', 'value', 'unit', 'source'],
  inputs.map(([name, { value, unit, source }]) => [name, short(value), unit, source]),
);
console.log(`\n  calls: ${kinds}; ${number(meanMs(from), 1)} ms of CPU on average,`);
console.log(`  so ${number(peakCalls(from))} calls a second of each gateway at peak`);

heading('A day, and waits in the queue');
printTable(
  ['gateways', 'calls/s at peak', 'night p95', 'peak p50', 'peak p95', 'peak p99', 'refused at peak'],
  sizes.map((gateways) => {
    const { night, peak } = simulateDay({ gateways, from });
    const waits = [ms(night, 0.95), ms(peak, 0.5), ms(peak, 0.95), ms(peak, 0.99)];
    const calls = number(gateways * peakCalls(from));
    return [number(gateways), calls, ...waits, percent(peak.refused, peak.arrived)];
  }),
);

heading('A hot tenant asks for all cores, where half were busy');
printTable(
  'gateways,others p95 before,others p95 beside it,others refused,hot served,hot p95,hot refused'.split(','),
  sizes.map((gateways) => {
    const { before, others, hot } = simulateHotTenant({ gateways, from });
    const left = [ms(before, 0.95), ms(others, 0.95), percent(others.refused, others.arrived)];
    const own = [percent(hot.served, hot.arrived), ms(hot, 0.95), percent(hot.refused, hot.arrived)];
    return [number(gateways), ...left, ...own];
  }),
);

heading(`A third of the gateways goes at peak, and is back after ${world.autoscalerSeconds.value} s`);
printTable(
  ['gateways', 'p95 before', 'p95 meanwhile', 'refused meanwhile', 'lost with them', 'p95 afterwards'],
  sizes
    .filter((gateways) => gateways >= 3)
    .map((gateways) => {
      const { before, during, after } = simulateLostZone({ gateways, from });
      const shares = [percent(during.refused, during.arrived), percent(before.lost, before.arrived)];
      return [number(gateways), ms(before, 0.95), ms(during, 0.95), ...shares, ms(after, 0.95)];
    }),
);

heading('What stands behind them, a second at peak');
const demands = sizes.map((gateways) => demandOf(gateways, from));
const rows: [string, (demand: (typeof demands)[0]) => number][] = [
  ['calls', ({ calls }) => calls],
  ['PostgreSQL: connections', ({ connections }) => connections],
  ['PostgreSQL: batches of usage', ({ batches }) => batches],
  ['PostgreSQL: rows in a batch', ({ rowsABatch }) => rowsABatch],
  ['PostgreSQL: rows written', ({ batches, rowsABatch }) => batches * rowsABatch],
  ['PostgreSQL: batches on one row', ({ sameRow }) => sameRow],
  ['PostgreSQL: when keys were used', ({ lastUsed }) => lastUsed],
  ['PostgreSQL: reads of the feed', ({ polls }) => polls],
  ['Redis: counts', ({ redisCounts }) => redisCounts],
  ['jobs: items', ({ items }) => items],
  ['jobs: PostgreSQL transactions', ({ itemTransactions }) => itemTransactions],
  ['jobs: Redis commands', ({ itemCommands }) => itemCommands],
];
printTable(
  ['gateways', ...sizes.map((gateways) => number(gateways))],
  rows.map(([name, of]) => [name, ...demands.map((demand) => number(of(demand), of(demand) < 10 ? 1 : 0))]),
);

heading('Which limit is reached first');
printTable(
  ['what is used up', 'there is', 'at gateways', 'what raises it'],
  limitsOf(from).map(({ what, has, at, raise }) => [what, number(has), number(at), raise]),
);
