import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { variables } from '../gateway/config.js';
import { errorTable } from '../gateway/errors.js';
import { createMetrics } from '../gateway/observe/metrics.js';
import type { Pool } from '../pool/pool.js';

const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8');

/** What stands in the first cell of a table's rows, in code type; several may share a cell. */
function firstCells(pattern: RegExp): string[] {
  const rows = readme.split('\n').filter((line) => line.startsWith('|'));
  return rows
    .flatMap((row) =>
      [...(row.split('|')[1] ?? '').matchAll(/`([^`]+)`/g)].map((match) => match[1] as string),
    )
    .filter((name) => pattern.test(name));
}

describe('README', () => {
  it('shows both commands', () => {
    expect(readme).to.include('npm ci && npm start').and.to.include('npm ci && npm test');
  });

  it('names every variable with its default, and no other', () => {
    expect(firstCells(/^[A-Z][A-Z_]+$/)).to.have.members(variables.map(({ name }) => name));
    for (const { name, default: value } of variables) {
      const shown = value ? `\`${value}\`` : name === 'HELPER_POOL_THREADS' ? 'cores' : '–';
      expect(readme).to.include(`\n| \`${name}\` | ${shown} |`);
    }
  });

  it('names every metric, and no other', async () => {
    const pool = { stats: () => ({ running: 0, places: 0, threads: 0 }) } as Pool;
    const arrivals = { stats: () => ({ arriving: 0, bytes: 0 }) };
    const departures = { stats: () => ({ bytes: 0 }) };
    const metrics = createMetrics({ pool, arrivals, departures, keysAvailable: () => true });
    const { body } = await metrics.text();
    const real = [...body.matchAll(/^# TYPE (helper_gateway_\w+) /gm)].map((match) => match[1]);
    expect(firstCells(/^helper_gateway_/)).to.have.members(real);
  });

  it('names every error code with its status, and no other', () => {
    const rows = [...readme.matchAll(/^\| (\d{3}) \| ((?:`[a-z_]+`(?:, )?)+) \|/gm)];
    const documented = rows.flatMap(([, status, codes]) =>
      [...(codes as string).matchAll(/`([a-z_]+)`/g)].map((match) => [match[1], Number(status)]),
    );
    const real = Object.entries(errorTable).map(([code, { status }]) => [code, status]);
    expect(documented).to.have.deep.members(real);
  });
});
