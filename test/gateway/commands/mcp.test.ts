import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { expect } from 'chai';
import { fixture } from '../../fixtures.js';
import { bin, runCommand } from '../gateway-process.js';

describe('helper-gateway mcp', () => {
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

  it('says how it is added to clients', async () => {
    const { stdout } = await runCommand(['mcp', '--help'], {});
    expect(stdout).to.include('{"mcpServers":{"helpers":{"command":"node","args":["');
    expect(stdout).to.include(JSON.stringify(bin));
  });
});
