import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { Agent, get } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { until } from '../../needs.js';
import { answering } from '../answering.js';
import { type DevProcess, startDev } from '../commands/dev-process.js';
import { type GatewayProcess, servingPid, startGatewayProcess } from '../harness.js';

/** Callers that call again as soon as they are answered, each on a connection that it keeps. */
function callers(url: string, count: number) {
  const agent = new Agent({ keepAlive: true });
  const faults: string[] = [];
  const state = { calls: 0, newest: 0, back: 0, faults };
  let isOver = false;

  async function call(): Promise<void> {
    const newest = state.newest;
    await new Promise<void>((resolve) => {
      const request = get(url, { agent }, (response) => {
        let text = '';
        response.on('data', (part) => {
          text += part;
        });
        response.on('end', () => {
          state.calls += 1;
          if (response.statusCode !== 200) faults.push(text);
          else {
            const { value } = JSON.parse(text).data as { value: number };
            if (value < newest) state.back += 1;
            state.newest = Math.max(state.newest, value);
          }
          resolve();
        });
      });
      request.on('error', (error: NodeJS.ErrnoException) => {
        faults.push(`${error.code} ${error.syscall}`);
        resolve();
      });
    });
  }

  const working = Array.from({ length: count }, async () => {
    while (!isOver) await call();
  });
  return {
    state,
    async end() {
      isOver = true;
      await Promise.all(working);
      agent.destroy();
    },
  };
}

describe('saves under dev, with four calls in flight', function () {
  this.timeout(900_000);
  const saves = process.env.TEST_RELOADS === 'all' ? 200 : 8;
  let dev: DevProcess;

  before(async () => {
    dev = await startDev();
  });
  after(() => dev?.end());

  it('fail no call, and none goes back to an older version', async () => {
    const folder = join(dev.folder, 'helpers');
    const save = async (name: string, value: number) => {
      await writeFile(join(dev.folder, 'new~'), answering(value));
      await rename(join(dev.folder, 'new~'), join(folder, name));
    };
    await dev.save('say.mjs', answering(0), /added .*say/);
    for (let other = 1; other < 9; other += 1) await save(`other${other}.mjs`, other);
    await dev.save('other9.mjs', answering(9), /added .*(other9|more)/);
    const { state, end } = callers(`${dev.url}/say?ak=${dev.key}`, 4);
    const waits: number[] = [];
    for (let version = 1; version <= saves; version += 1) {
      const began = performance.now();
      await save('say.mjs', version);
      await until(() => state.newest === version || state.faults.length > 0);
      waits.push(performance.now() - began);
    }
    await end();
    waits.sort((a, b) => a - b);
    console.log(`      ${state.calls} calls; save to answer ${Math.round(waits[saves / 2] as number)} ms`);
    expect(state).to.deep.include({ newest: saves, back: 0, faults: [] });
  });
});

describe('serve whose process is killed, with calls in flight', function () {
  this.timeout(120_000);
  let folder: string;
  let gateway: GatewayProcess;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'killed-'));
    await mkdir(join(folder, 'helpers'));
    await writeFile(join(folder, 'helpers', 'say.mjs'), answering(1));
    gateway = await startGatewayProcess({
      HELPER_PLUGINS: join(folder, 'helpers'),
      HELPER_DATA_DIR: join(folder, 'data'),
      HELPER_RATE: '0',
    });
  });
  after(async () => {
    await gateway?.stop('SIGKILL');
    await rm(folder, { recursive: true });
  });

  it('loses those that are inside it, and refuses no connection', async () => {
    const { state, end } = callers(`${gateway.url}/say?ak=${gateway.first_key?.key}`, 4);
    for (let times = 1; times <= 2; times += 1) {
      const { calls } = state;
      await until(() => state.calls > calls + 50);
      const { length } = state.faults;
      process.kill(servingPid(gateway), 'SIGKILL');
      const at = state.calls;
      await until(() => state.calls > at + 50);
      expect(state.faults.length - length).to.be.at.most(4);
    }
    await end();
    expect(state.faults.filter((fault) => /REFUSED|connect/.test(fault))).to.deep.equal([]);
  });
});
