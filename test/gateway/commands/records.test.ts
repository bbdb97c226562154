import { expect } from 'chai';
import { Command } from 'commander';
import type { OpenKeys } from '../../../gateway/commands/open.js';
import type { Terminal } from '../../../gateway/commands/output.js';
import { registerRecordCommands } from '../../../gateway/commands/records.js';
import { useTestSite } from '../site/test-site.js';

describe('commands on usage, requests and the audit log', () => {
  const site = useTestSite();
  const open: OpenKeys = async () => ({ ...site, services: [], close: async () => undefined });
  let key: string;
  before(async () => {
    const { id: tenant } = await site.admin.createTenant('acme', 'test');
    ({ id: key } = await site.admin.issueKey('acme', { label: 'web shop' }, 'cli:ann'));
    await site.record({ tenant, key }, { tenant, key, status: 429, code: 'rate_limited', ms: 1.5 });
  });

  async function run(...args: string[]) {
    const ran = { stdout: '', stderr: '', exitCode: 0 };
    const setExitCode = (exitCode: number) => void Object.assign(ran, { exitCode });
    const terminal: Terminal = {
      stdout: { write: (text) => (ran.stdout += text), isTTY: false },
      stderr: { write: (text) => (ran.stderr += text) },
      ...{ setExitCode, exit: setExitCode },
    };
    const program = new Command('helper-gateway');
    registerRecordCommands(program, open, terminal);
    await program.parseAsync(args, { from: 'user' });
    return ran;
  }
  const linesOf = async (...args: string[]) => (await run(...args)).stdout.trimEnd().split('\n');

  it('usage prints sums as aligned columns, CSV or JSON', async () => {
    const [head = '', row = ''] = await linesOf('usage', '--tenant', 'acme', '--by', 'key');
    expect(head).to.match(/^KEY +LABEL +CALLS +ERRORS +BYTES IN/);
    expect(row).to.match(new RegExp(`^${key}  web shop +2 +1 `));
    expect(head.indexOf('CALLS ') + 'CALLS'.length).to.equal(row.indexOf('  2 ') + 3);
    expect(await linesOf('usage', '--by', 'outcome', '--csv')).to.have.length(3);
    const { data } = JSON.parse((await run('usage', '--json')).stdout);
    expect(data.usage[0]).to.include({ calls: 2, errors: 1 });
  });

  it('requests prints the last calls, or the one with an id', async () => {
    expect(await linesOf('requests', '--tenant', 'acme')).to.have.length(3);
    const found = await linesOf('requests', 'request-1');
    expect(found[1]).to.match(/Z +request-1 .* 429 +rate_limited +1.5$/);
    expect((await run('requests', 'nothing')).stderr).to.equal('No call with the id nothing is stored.\n');
  });

  it('audit prints sentences, by actor and action', async () => {
    const [, ...rows] = await linesOf('audit', '--actor', 'ann', '--action', 'key.issue');
    expect(rows).to.have.length(1);
    expect(rows[0]).to.match(/cli:ann +acme +issued the key web shop/);
  });

  it('says which option is wrong', async () => {
    const { stderr, exitCode } = await run('usage', '--by', 'keys');
    expect(exitCode).to.equal(1);
    expect(stderr).to.include('--by must be one or two of day, tenant');
    expect((await run('requests', '--limit', 'x')).stderr).to.include('--limit');
  });
});
