import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { expect } from 'chai';
import { Command } from 'commander';
import { registerMcp } from '../../../gateway/commands/mcp.js';
import { fixture } from '../../fixtures.js';
import { bin, runCommand } from '../harness.js';

const checkout = dirname(dirname(bin));

/** Why the command, run in this process, does not serve. */
async function refusalOf(...args: string[]): Promise<string> {
  const program = new Command();
  registerMcp(program);
  const { write } = process.stdout;
  try {
    await program.parseAsync(['mcp', ...args], { from: 'user' });
  } catch (error) {
    return (error as Error).message;
  } finally {
    // The command reserves standard output for its messages.
    process.stdout.write = write;
  }
  throw new Error('it serves');
}

describe('helper-gateway mcp', function () {
  this.timeout(30_000);
  it('speaks to the official client, whatever plugins print', async () => {
    const transport = new StdioClientTransport({
      command: process.execPath,
      args: [bin, 'mcp'],
      env: { ...(process.env as Record<string, string>), HELPER_PLUGINS: fixture('plugins/printing') },
      stderr: 'pipe',
    });
    const printed = new Promise<void>((resolve) => {
      let text = '';
      transport.stderr?.on('data', (chunk) => {
        text += chunk;
        if (text.includes('printed by log')) resolve();
      });
    });
    const client = new Client({ name: 'test', version: '1' });
    await client.connect(transport);
    const arguments_ = { a: 'one', b: 'two' };
    const { structuredContent } = await client.callTool({
      name: 'text_diff-two-strings',
      arguments: arguments_,
    });
    expect(structuredContent).to.deep.equal({ diff: '@@ -1 +1 @@\n-one\n+two' });
    await printed;
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

  it('ends where there is no folder to read from', async () => {
    for (const folder of [join(checkout, 'nope'), bin]) {
      const told = `--files must name a folder that exists, but names ${folder}`;
      expect(await refusalOf('--files', folder)).to.equal(told);
    }
  });

  it('ends where it cannot write, and says which folder and why', async () => {
    const { code, stderr } = await runCommand(['mcp', '--out', join(bin, 'below')], {});
    expect([code, stderr]).to.deep.equal([
      1,
      `helper-gateway: --out cannot be written to: ${join(bin, 'below')} is no folder\n`,
    ]);
  });
});
