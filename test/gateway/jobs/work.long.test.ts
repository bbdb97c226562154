import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { fixture } from '../../fixtures.js';
import { until } from '../../needs.js';
import {
  bin,
  createGate,
  type GatewayProcess,
  operatorToken,
  startChild,
  startGatewayProcess,
} from '../harness.js';

describe('work, beside a gateway of the same environment', () => {
  let folder: string;
  let env: Record<string, string>;
  let gateway: GatewayProcess;
  let key: string;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'helper-gateway-'));
    env = {
      HELPER_DATA_DIR: folder,
      HELPER_JOBS: 'off',
      HELPER_RATE: '0',
      HELPER_PLUGINS: fixture('plugins/pool'),
      HELPER_IMAGE_ENGINE: 'jimp',
      HELPER_TASK_TIMEOUT_MS: '60000',
      HELPER_OPERATOR_TOKEN: operatorToken,
    };
    gateway = await startGatewayProcess(env);
    key = gateway.first_key?.key ?? '';
  });
  after(async () => {
    await gateway.stop();
    await rm(folder, { recursive: true });
  });

  function work(own: Record<string, string> = {}) {
    return startChild(process.execPath, [bin, 'work', '--json'], {
      env: {
        ...{ PATH: process.env.PATH, HELPER_POOL_THREADS: '1', LOG_LEVEL: 'info' },
        // Those of the gateway: they are taken, and it does not touch them.
        ...{ PORT: new URL(gateway.url).port, CONNECT_PORT: new URL(gateway.connect_url).port },
        ...env,
        ...own,
      },
    });
  }

  async function ask(path: string, init: RequestInit = {}) {
    const response = await fetch(`${gateway.url}${path}`, {
      ...init,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    });
    return (await response.json()).data;
  }

  const job = (id: string, is: (data: { state: string; done: number }) => boolean) =>
    until(async () => {
      const data = await ask(`/jobs/${id}`);
      return is(data) ? data : undefined;
    });

  it('takes its jobs, and hands back at SIGTERM what has not begun', async () => {
    const gate = await createGate();
    const first = work({ HELPER_WORK_PORT: '0' });
    const said = JSON.parse(await first.until(() => /^\{"ok".*$/m.exec(first.stdout())?.[0])).data;
    expect(said).to.include({ threads: 1, queue: 'sqlite', results: 'folder' });
    expect((await fetch(`${said.url}/readyz`)).status).to.equal(200);
    expect((await fetch(`${said.url}/metrics`)).status).to.equal(401);

    const inputs = Array.from({ length: 5 }, () => ({ path: gate.file }));
    const body = JSON.stringify({ service: 'gate', inputs });
    const { id } = await ask('/jobs', { method: 'POST', body });
    await job(id, ({ state }) => state === 'running');
    await until(async () => {
      const headers = { authorization: `Bearer ${operatorToken}` };
      const text = await (await fetch(`${said.url}/metrics`, { headers })).text();
      return /^helper_gateway_pool_running 1$/m.test(text);
    });
    first.process.kill('SIGTERM');
    // It ends when the item that runs has: the others are the next one's at once.
    await first.until(() => /shutting down/.test(first.written()));
    const second = work();
    await second.until(() => /"ok":true/.test(second.stdout()));
    await gate.open();
    expect(await first.ended).to.equal(0);
    expect(await job(id, ({ state }) => state === 'done')).to.include({ total: 5, done: 5, failed: 0 });
    second.process.kill('SIGTERM');
    expect(await second.ended).to.equal(0);
    await gate.close();
  });
});
