import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { type GatewayProcess, startGatewayProcess } from '../gateway-process.js';
import { answering } from '../helpers/reload-world.js';

describe('serve at SIGHUP', function () {
  // A reload imports every plugin on a new thread.
  this.timeout(60_000);
  let folder: string;
  let gateway: GatewayProcess;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'hangup-'));
    await writeFile(join(folder, 'say.mjs'), answering(1));
    await writeFile(join(folder, 'here.mjs'), answering(1, "runs: 'inline'"));
    gateway = await startGatewayProcess({
      HELPER_PLUGINS: folder,
      HELPER_DATA_DIR: join(folder, '.data'),
      LOG_LEVEL: 'info',
    });
  });

  after(async () => {
    if (gateway?.child.exitCode === null) await gateway.stop('SIGKILL');
    await rm(folder, { recursive: true });
  });

  /** Sends the signal and waits for the line that says that the reload is done. */
  async function reload(): Promise<Record<string, unknown>> {
    const before = gateway.written().length;
    gateway.child.kill('SIGHUP');
    const lines = () => gateway.written().slice(before).split('\n').slice(0, -1);
    return JSON.parse(await gateway.until(() => lines().find((line) => line.includes('"plugins reloaded"'))));
  }

  async function call(id: string): Promise<unknown> {
    const response = await fetch(`${gateway.url}/${id}?ak=${gateway.first_key?.key}`);
    const { data } = (await response.json()) as { data?: { value: unknown } };
    return data?.value ?? response.status;
  }

  it('loads every helper anew, inline ones too, logs what changed, and answers calls all the while', async () => {
    expect([await call('say'), await call('here')]).to.deep.equal([1, 1]);
    await writeFile(join(folder, 'say.mjs'), answering(2));
    await writeFile(join(folder, 'here.mjs'), answering(2, "runs: 'inline'"));
    await writeFile(join(folder, 'new.mjs'), answering('new'));
    const reloading = reload();
    const calls = Array.from({ length: 40 }, async () => {
      const text = 'the word '.repeat(2_000);
      const body = JSON.stringify({ text });
      const headers = { 'content-type': 'application/json' };
      const url = `${gateway.url}/text/remove-stopwords?ak=${gateway.first_key?.key}`;
      return (await fetch(url, { method: 'POST', headers, body })).status;
    });
    expect(new Set(await Promise.all(calls))).to.deep.equal(new Set([200]));
    expect(await reloading).to.deep.include({ added: ['new'], reloaded: ['here', 'say'], failed: 0 });
    expect([await call('say'), await call('here'), await call('new')]).to.deep.equal([2, 2, 'new']);
  });

  it('goes on with what it has where a file is broken, names it, and removes what is gone', async () => {
    await writeFile(join(folder, 'say.mjs'), 'export default 7;');
    await rm(join(folder, 'new.mjs'));
    expect(await reload()).to.deep.include({ failed: 1, removed: ['new'] });
    expect(gateway.written()).to.include(join(folder, 'say.mjs')).and.include('must be a helper declaration');
    expect([await call('say'), await call('new')]).to.deep.equal([2, 404]);
  });

  it('and logs every call, and the end, before it ends at SIGTERM', async () => {
    const calls = Array.from({ length: 20 }, () => fetch(`${gateway.url}/healthz`));
    for (const call of calls) await (await call).arrayBuffer();
    expect(await gateway.stop()).to.equal(0);
    expect(gateway.written().match(/"path":"\/healthz"/g)).to.have.length(20);
    expect(gateway.written()).to.include('"msg":"shutting down"');
  });
});
