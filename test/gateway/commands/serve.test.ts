import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { expect } from 'chai';
import { gatewayGreeting } from '../../../gateway/commands/serve.js';
import type { Gateway } from '../../../gateway/gateway.js';
import { answering } from '../answering.js';
import { type GatewayProcess, startGatewayProcess } from '../harness.js';

describe('the greeting', () => {
  const greet = (config = {}, summary = 'X.') =>
    gatewayGreeting(
      {
        url: 'http://127.0.0.1:8080',
        registry: new Map([['text/x', { id: 'text/x', declaration: { summary } }]]),
        engine: { engine: 'sharp' },
      } as unknown as Gateway,
      { dataDir: '.data', ...config },
    );

  it('lets no plugin control the terminal, and names no tenant that is not there', () => {
    const text = greet({}, '\u001b]0;title\u0007\u009b31m');
    expect(text).to.include('\\u{1b}]0;title\\u{7}\\u{9b}31m').and.include('keys issue TENANT\n');
  });

  it('says where the database lies, and never its address', () => {
    expect(greet()).to.include(` ${resolve('.data')}.\n`);
    const text = greet({ databaseUrl: 'postgres://user:secret@db.example/gateway' });
    expect(text).to.include('PostgreSQL').and.not.include('secret');
  });
});

describe('serve at SIGHUP', function () {
  // A reload imports every plugin on a new thread.
  this.timeout(60_000);
  let folder: string;
  let gateway: GatewayProcess;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'hangup-'));
    await writeFile(join(folder, 'say.mjs'), answering(1));
    await writeFile(join(folder, 'here.mjs'), answering(1, "runs: 'inline'"));
    await writeFile(join(folder, 'end.mjs'), answering(1).replace('() => (', '() => (process.exit(), '));
    const env = { HELPER_PLUGINS: folder, HELPER_DATA_DIR: join(folder, '.data'), LOG_LEVEL: 'info' };
    gateway = await startGatewayProcess(env);
  });

  after(async () => {
    if (gateway?.child.exitCode === null) await gateway.stop('SIGKILL');
    await rm(folder, { recursive: true });
  });

  /** Sends the signal and waits for the line that says that the reload is done, or why not. */
  async function reload(line = '"plugins reloaded"'): Promise<Record<string, unknown>> {
    const before = gateway.written().length;
    gateway.child.kill('SIGHUP');
    const lines = () => gateway.written().slice(before).split('\n').slice(0, -1);
    return JSON.parse(await gateway.until(() => lines().find((each) => each.includes(line))));
  }

  async function call(id: string): Promise<unknown> {
    const response = await fetch(`${gateway.url}/${id}?ak=${gateway.first_key?.key}`);
    return JSON.parse(await response.text()).data?.value ?? response.status;
  }

  it('loads every helper anew, inline ones too, logs what changed, and answers calls all the while', async () => {
    expect([await call('say'), await call('here')]).to.deep.equal([1, 1]);
    await writeFile(join(folder, 'say.mjs'), answering(2));
    await writeFile(join(folder, 'here.mjs'), answering(2, "runs: 'inline'"));
    await writeFile(join(folder, 'new.mjs'), answering('new'));
    const reloading = reload();
    const url = `${gateway.url}/text/remove-stopwords?ak=${gateway.first_key?.key}`;
    const body = JSON.stringify({ text: 'the word '.repeat(2_000) });
    const headers = { 'content-type': 'application/json' };
    const calls = Array.from({ length: 40 }, () => fetch(url, { method: 'POST', headers, body }));
    for (const call of calls) expect((await call).status).to.equal(200);
    expect(await reloading).to.deep.include({ added: ['new'], reloaded: ['end', 'here', 'say'], failed: 0 });
    expect([await call('say'), await call('here'), await call('new')]).to.deep.equal([2, 2, 'new']);
  });

  it('goes on as it is where a file is broken, and names it', async () => {
    await writeFile(join(folder, 'say.mjs'), 'export default 7;');
    await rm(join(folder, 'new.mjs'));
    expect(await reload('could not be reloaded')).to.include({ code: 1 });
    expect(gateway.written()).to.include(join(folder, 'say.mjs')).and.include('must be a helper declaration');
    expect([await call('say'), await call('new')]).to.deep.equal([2, 'new']);
  });

  it('removes what is gone, once the file is mended', async () => {
    await writeFile(join(folder, 'say.mjs'), answering(3));
    expect(await reload()).to.deep.include({ removed: ['new'], reloaded: ['end', 'here', 'say'] });
    expect([await call('say'), await call('new')]).to.deep.equal([3, 404]);
  });

  it('runs the code of its start in a thread that replaces another', async () => {
    await writeFile(join(folder, 'say.mjs'), answering('saved, and not loaded'));
    for (let times = 0; times < 3; times += 1) {
      expect(await call('end')).to.equal(500);
      expect(await call('say')).to.equal(3);
    }
  });

  it('and logs every call, and the end, before it ends at SIGTERM', async () => {
    const calls = Array.from({ length: 20 }, () => fetch(`${gateway.url}/healthz`));
    for (const call of calls) await (await call).arrayBuffer();
    expect(await gateway.stop()).to.equal(0);
    expect(gateway.written().match(/"path":"\/healthz"/g)).to.have.length(20);
    expect(gateway.written()).to.include('"msg":"shutting down"');
  });
});
