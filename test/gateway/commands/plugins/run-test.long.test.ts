import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { type HelperReport, linesOf } from '../../../../gateway/commands/plugins/run-test.js';
import { runCommand } from '../../harness.js';

const plugin = (more: string) => `export default { summary: 'x', ${more} };`;
const text =
  "input: { type: 'object', required: ['text'], properties: { text: { type: 'string', maxLength: 50 } } }";

const plugins = {
  // Throws for a text without a word.
  throws: plugin(`${text},\n handler: ({ text }) => ({ word: /[a-z]+/.exec(text)[0] })`),
  breaks:
    plugin(`${text}, runs: 'inline', output: { type: 'object', properties: { size: { type: 'integer' } } },
    examples: [{ input: { text: 'four' } }], handler: ({ text }) => ({ size: text.length, more: 1 })`),
  hangs: plugin(`${text}, timeoutMs: 50, examples: [{ input: { text: 'x' } }],
    handler: ({ text }) => (text === 'x' ? new Promise(() => {}) : { text })`),
  loops: plugin(`${text}, runs: 'inline', timeoutMs: 50, examples: [{ input: { text: 'x' } }],
    handler: ({ text }) => { while (text === 'x'); return { text }; }`),
  fetches: plugin(`input: { type: 'object' }, examples: [{ summary: 'Asks', input: {} }],
    handler: async (_, { fetch }) => ({ status: (await fetch('https://example.com/')).status })`),
  asks: plugin(
    `input: { type: 'object' }, config: { key: { env: 'ASKS_KEY', required: true } }, handler: () => ({})`,
  ),
  draws:
    plugin(`input: { type: 'object', properties: { width: { type: 'integer', minimum: 0, maximum: 9 } } },
    source: 'image', files: { table: { kind: 'bytes', types: ['text/csv'] } },
    handler: (_, { image, files }) => ({ width: image.width, type: files.table?.type ?? null })`),
};

describe('plugins test', () => {
  const folder = mkdtempSync(join(tmpdir(), 'test-'));
  let reports: Map<string, HelperReport & { reason?: string }>;

  before(async function () {
    this.timeout(60_000);
    for (const [name, source] of Object.entries(plugins)) writeFileSync(join(folder, `${name}.mjs`), source);
    mkdirSync(join(folder, 'node_modules'));
    writeFileSync(join(folder, 'node_modules', 'x.test.mjs'), 'throw 1;');
    const own = "import 'helper-gateway/testing'; throw new Error('not yet');";
    writeFileSync(join(folder, 'own.test.mjs'), own);
    const args = ['plugins', 'test', folder, '--json', '--runs', '40', '--seed', '1'];
    const { code, stdout, stderr } = await runCommand(args, {});
    const { data } = JSON.parse(stdout);
    reports = new Map(data.plugins.map((each: HelperReport) => [each.id, each]));
    // The author's own tests fail, too.
    expect([code, stderr.includes('not yet')]).to.deep.equal([1, true]);
    expect(data.failed).to.be.at.least(4);
  });
  after(() => rmSync(folder, { recursive: true }));

  for (const [id, failure, reason] of [
    // The smallest input that throws, and the place.
    ['throws', { stage: 'generated', input: { text: '' } }, /^TypeError: .*throws\.mjs:2:\d+/],
    ['breaks', { stage: 'example', input: { text: 'four' } }, /more/],
    [
      'hangs',
      { stage: 'example' },
      /helper_timeout: .* It had worked for \d+ ms; timeoutMs of its declaration/,
    ],
    ['loops', { stage: 'example', input: { text: 'x' } }, /helper_timeout/],
  ] as const) {
    it(`finds what fails: ${id}`, () => {
      const [first] = reports.get(id)?.failures ?? [];
      expect(first).to.deep.include(failure);
      expect(first?.reason).to.match(reason);
    });
  }

  it('prints a call to be made again, of a long one what a person reads', () => {
    const names = { command: 'npx helper-gateway', folder, helpers: [] };
    const report = reports.get('throws') as HelperReport;
    expect(linesOf(report, names).join('\n'))
      .to.match(/^✗ \/throws {2}0 examples, \d+ inputs\n {4}generated: TypeError/)
      .and.include(`HELPER_PLUGINS=${folder} npx helper-gateway call throws --text ''`);
    const input = { text: 'y'.repeat(10_000) };
    const long = { ...report, failures: [{ stage: 'generated' as const, reason: 'x', input, files: [] }] };
    const [, , line = ''] = linesOf(long, names);
    expect(line).to.match(/y… \(all of it: --json\)$/);
    expect(line.length).to.be.below(2_100);
  });

  it('lets nothing fetch, says what lacks its configuration, and brings files where they are wanted', () => {
    const { failures, skipped = [] } = reports.get('fetches') ?? {};
    expect(failures).to.deep.equal([]);
    expect(skipped[0]).to.match(/^example 1 \(Asks\) fetches: --network/);
    expect(reports.get('asks')?.reason).to.include('ASKS_KEY');
    expect(reports.get('draws')).to.deep.include({ failures: [], inputs: 40 });
  });
});
