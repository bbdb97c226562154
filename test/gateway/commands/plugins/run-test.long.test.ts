import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { linesOf } from '../../../../gateway/commands/plugins/run-test.js';
import type { HelperReport } from '../../../../gateway/commands/plugins/test-helper.js';
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
  let code: number | null;
  let failed = 0;
  let stderr = '';

  before(async function () {
    this.timeout(60_000);
    for (const [name, source] of Object.entries(plugins)) writeFileSync(join(folder, `${name}.mjs`), source);
    mkdirSync(join(folder, 'node_modules'));
    writeFileSync(join(folder, 'node_modules', 'x.test.mjs'), 'throw 1;');
    writeFileSync(
      join(folder, 'own.test.mjs'),
      "import 'helper-gateway/testing'; throw new Error('not yet');",
    );
    const options = ['--runs', '40', '--seed', '1'];
    const json = await runCommand(['plugins', 'test', folder, '--json', ...options], {});
    code = json.code;
    reports = new Map(JSON.parse(json.stdout).data.plugins.map((each: HelperReport) => [each.id, each]));
    stderr = json.stderr;
    ({ failed } = JSON.parse(json.stdout).data);
  });
  after(() => rmSync(folder, { recursive: true }));

  const failure = (id: string) => reports.get(id)?.failures[0];

  it('finds what throws, with the smallest input that does and its place, to be called again', () => {
    expect(failure('throws')).to.deep.include({ stage: 'generated', input: { text: '' } });
    expect(failure('throws')?.reason).to.match(/^TypeError: .*throws\.mjs:2:\d+/);
    const names = { command: 'npx helper-gateway', folder, helpers: [] };
    const told = linesOf(reports.get('throws') as HelperReport, names).join('\n');
    expect(told).to.match(/^✗ \/throws {2}0 examples, \d+ inputs\n {4}generated: TypeError/);
    expect(told).to.include(`HELPER_PLUGINS=${folder} npx helper-gateway call throws --text ''`);
  });

  it('prints of a long call what a person reads, and says where all of it is', () => {
    const report = { ...(reports.get('throws') as HelperReport) };
    report.failures = [{ stage: 'generated', reason: 'x', input: { text: 'y'.repeat(10_000) }, files: [] }];
    const [, , line = ''] = linesOf(report, { command: 'helper-gateway', folder, helpers: [] });
    expect(line).to.match(/y… \(all of it: --json\)$/);
    expect(line.length).to.be.below(2_100);
  });

  it('finds an answer that is not as declared, and a call that does not end', () => {
    expect(failure('breaks')).to.deep.include({ stage: 'example', input: { text: 'four' } });
    expect(failure('breaks')?.reason).to.include('more');
    expect(failure('hangs')?.reason).to.include('helper_timeout');
    expect(failure('loops')).to.deep.include({ stage: 'example', input: { text: 'x' } });
    expect(failure('loops')?.reason).to.include('helper_timeout');
    expect(failure('hangs')?.reason).to.match(/ It had worked for \d+ ms; timeoutMs of its declaration/);
  });

  it('lets nothing fetch, and says which example would have', () => {
    expect(reports.get('fetches')).to.deep.include({ failures: [] });
    expect(reports.get('fetches')?.skipped[0]).to.match(/^example 1 \(Asks\) fetches: --network/);
  });

  it('passes over what lacks its configuration, naming the variable', () => {
    expect(reports.get('asks')?.reason).to.include('ASKS_KEY');
  });

  it('brings files where they are wanted', () => {
    expect(reports.get('draws')).to.deep.include({ failures: [], inputs: 40 });
  });

  it('runs the author’s own tests, and ends with 1 where anything fails', () => {
    expect(code).to.equal(1);
    expect(failed).to.be.at.least(4);
    expect(stderr).to.include('not yet');
  });
});
