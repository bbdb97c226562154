import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { expect } from 'chai';
import { fixture } from '../../fixtures.js';
import { until } from '../../needs.js';
import { bin, runCommand } from '../harness.js';

const checkout = dirname(dirname(bin));

describe('helper-gateway mcp', function () {
  this.timeout(30_000);
  it('speaks to the official client, whatever plugins print', async () => {
    const transport = new StdioClientTransport({
      command: process.execPath,
      args: [bin, 'mcp'],
      env: { ...(process.env as Record<string, string>), HELPER_PLUGINS: fixture('plugins/printing') },
      stderr: 'pipe',
    });
    let printed = '';
    transport.stderr?.on('data', (chunk) => (printed += chunk));
    const client = new Client({ name: 'test', version: '1' });
    await client.connect(transport);
    const call = { name: 'text_diff-two-strings', arguments: { a: 'one', b: 'two' } };
    const { structuredContent } = await client.callTool(call);
    expect(structuredContent).to.deep.equal({ diff: '@@ -1 +1 @@\n-one\n+two' });
    await until(() => printed.includes('printed by log'));
    await client.close();
  });

  it('ends well with its standard input', async () => {
    const { code, stdout } = await runCommand(['mcp'], {});
    expect([code, stdout]).to.deep.equal([0, '']);
  });

  it('says how it is added to clients, from a folder of any name', () => {
    const temporary = mkdtempSync(join(tmpdir(), 'mcp-'));
    try {
      const root = join(temporary, 'my tools #1 100%?');
      mkdirSync(root);
      for (const part of ['package.json', 'gateway', 'dist/bundle']) {
        cpSync(join(checkout, part), join(root, part), { recursive: true });
      }
      symlinkSync(join(checkout, 'node_modules'), join(root, 'node_modules'));
      const own = join(root, 'gateway', 'bin.cjs');
      const help = execFileSync(process.execPath, [own, 'mcp', '--help'], { encoding: 'utf8' });
      expect(help).to.include(`{"mcpServers":{"helpers":{"command":"node","args":[${JSON.stringify(own)}`);
      expect(help).to.include(JSON.stringify(own)).and.to.include(`-- node '${own}' mcp`);
    } finally {
      rmSync(temporary, { recursive: true });
    }
  });

  for (const [option, folder, problem] of [
    ['--files', join(checkout, 'nope'), 'must name a folder that exists, but names FOLDER'],
    ['--files', bin, 'must name a folder that exists, but names FOLDER'],
    ['--out', join(bin, 'below'), 'cannot be written to: FOLDER is no folder'],
  ] as const) {
    it(`ends where ${option} ${problem.replace('FOLDER', basename(folder))}`, async () => {
      const { code, stderr } = await runCommand(['mcp', option, folder], {});
      const line = `helper-gateway: ${option} ${problem.replace('FOLDER', folder)}\n`;
      expect([code, stderr]).to.deep.equal([1, line]);
    });
  }
});
