import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect } from 'chai';
import { createPool, type Pool } from '../../pool/pool.js';
import { fixture } from '../fixtures.js';
import { workerSettings } from './worker-settings.js';

describe('plugins in TypeScript, in worker threads', () => {
  let folder: string;
  let pool: Pool;
  const module = (service: string, file: string) => ({
    service,
    url: pathToFileURL(join(folder, file)).href,
  });

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'plugins-'));
    await cp(fixture('plugins/typescript/good'), folder, { recursive: true });
    pool = createPool({
      threads: 1,
      queue: 9,
      worker: {
        ...workerSettings,
        plugins: Promise.resolve([module('text/shout', 'text/shout.ts')]),
        helperUrl: new URL('../../gateway/helper.js', import.meta.url).href,
      },
      onFault: (error) => {
        throw error;
      },
    });
    await pool.start();
  });
  after(async () => {
    await pool.close();
    await rm(folder, { recursive: true });
  });

  async function call(service: string, file: string, input: Record<string, unknown>): Promise<unknown> {
    const { url: plugin } = module(service, file);
    const context = { service, request_id: 'r' };
    const outcome = await pool
      .ticket({ tenant: 'a', weight: 1, most: null })
      .run({ kind: 'call', plugin, does: 'handler', input, context });
    if (!outcome.ok || !('bytes' in outcome.value)) throw new Error('it has no answer');
    return JSON.parse(Buffer.from(outcome.value.bytes).toString());
  }

  it('run as they are, with what they import from their own folder', async () => {
    expect(await call('text/shout', 'text/shout.ts', { text: 'one two' })).to.deep.equal({
      text: 'ONE TWO!!!',
    });
  });

  it('know the line and the column that they were written on', async () => {
    const answer = await call('text/titled', 'text/titled/index.mts', { a: 1, b: 2 });
    expect(answer).to.deep.equal({ title: '2 fields', at: '7:58' });
  });
});
