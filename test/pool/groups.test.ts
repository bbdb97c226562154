import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect } from 'chai';
import { LoadError } from '../../pool/load-faults.js';
import { createPool, type Pool } from '../../pool/pool.js';
import type { CallTask } from '../../pool/task.js';
import { createGate } from '../gateway/harness.js';
import { callTask, workerSettings } from './worker-settings.js';

const requester = { tenant: 'a', weight: 1, most: null };

describe('groups of threads', () => {
  let pool: Pool;
  let folder: string;
  let file: string;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'plugins-'));
    file = join(folder, 'version.mjs');
    await write(1);
    pool = createPool({
      threads: 1,
      queue: 9,
      worker: { ...workerSettings, plugins: known() },
    });
    await pool.start();
  });

  afterEach(async () => {
    await pool.close();
    await rm(folder, { recursive: true });
  });

  const write = (version: number, first = '') =>
    writeFile(file, `${first} export default { handler: () => ({ version: ${version} }) };`);
  const known = async () => [{ service: 'version', url: pathToFileURL(file).href }];
  const task = (): CallTask => ({ ...callTask('echo'), plugin: pathToFileURL(file).href });

  async function versionIn(turn: ReturnType<Pool['ticket']>): Promise<unknown> {
    const outcome = await turn.run(task());
    if (!outcome.ok) throw new Error(outcome.message);
    return JSON.parse(Buffer.from((outcome.value as { bytes: Uint8Array }).bytes).toString()).version;
  }

  it('have each loaded the version that was there when they were started', async () => {
    await write(2);
    const second = await pool.open({ plugins: known() });
    expect(await versionIn(pool.ticket(requester, second))).to.equal(2);
    expect(await versionIn(pool.ticket(requester))).to.equal(1);
  });

  it('run no more tasks at a time together than one alone', async () => {
    const second = await pool.open({ plugins: known() });
    const sleeping = [pool.first, second, pool.first, second].map((group) =>
      pool.ticket(requester, group).run(callTask('sleep', { ms: 30 })),
    );
    const most: number[] = [];
    for (const done of sleeping) {
      most.push(pool.stats().running);
      await done;
    }
    expect(Math.max(...most)).to.equal(1);
    expect(pool.stats()).to.deep.equal({ running: 0, places: 0, threads: 1 });
  });

  it('stay until the last call that began there has left', async () => {
    const turn = pool.ticket(requester);
    const second = await pool.open({ plugins: known() });
    let ended = false;
    const retired = pool.first.retire().then(() => {
      ended = true;
    });
    expect(await versionIn(turn)).to.equal(1);
    expect(await versionIn(pool.ticket(requester, second))).to.equal(1);
    expect(ended).to.equal(false);
    turn.release();
    await retired;
    expect(await versionIn(pool.ticket(requester, second))).to.equal(1);
  });

  it('stay until a task has ended whose call was given up', async () => {
    const turn = pool.ticket(requester);
    const running = turn.run(callTask('sleep', { ms: 50 }));
    turn.release();
    await pool.first.retire();
    expect((await running).ok).to.equal(true);
  });

  it('do not keep each other’s tasks waiting for a thread that is being replaced', async () => {
    const second = await pool.open({ plugins: known() });
    const gate = await createGate();
    // The new thread has loaded it once the gate is open.
    const isShut = `!(await import('node:fs')).existsSync(${JSON.stringify(gate.file)})`;
    await write(1, `while (${isShut}) await new Promise((resolve) => setTimeout(resolve, 5));`);
    const died = pool
      .ticket(requester)
      .run(callTask('exit'))
      .catch((error) => error.code);
    const after = versionIn(pool.ticket(requester));
    expect(await died).to.equal('internal');
    expect(await versionIn(pool.ticket(requester, second))).to.equal(1);
    expect(await versionIn(pool.ticket(requester, second))).to.equal(1);
    await gate.open();
    expect(await after).to.equal(1);
    await gate.close();
    expect(pool.stats()).to.include({ running: 0, places: 0 });
  });

  it('give up a task that waits for a thread that is being replaced', async () => {
    await pool.open({ plugins: known() });
    const died = pool
      .ticket(requester)
      .run(callTask('exit'))
      .catch((error) => error.code);
    const turn = pool.ticket(requester);
    const waiting = turn.run(task()).catch((error) => error.message);
    await died;
    turn.release();
    expect(await waiting).to.equal('the call was given up before its task began');
    expect(pool.stats().places).to.equal(0);
  });

  it('load no more what they are not to retain, when a thread is replaced', async () => {
    await writeFile(file, 'process.exit();');
    pool.first.retain(new Set());
    const died = pool
      .ticket(requester)
      .run(callTask('exit'))
      .catch((error) => error.code);
    expect(await died).to.equal('internal');
    expect((await pool.ticket(requester).run(callTask('echo'))).ok).to.equal(true);
  });

  it('that cannot load their plugins end, and the plugin is named', async () => {
    await writeFile(file, 'throw new Error("broken");');
    const error = await pool.open({ plugins: known() }, { attempts: 1 }).catch((thrown) => thrown);
    expect(error).to.be.instanceOf(LoadError);
    expect(error.service).to.equal('version');
    expect(pool.stats().threads).to.equal(1);
    expect(await versionIn(pool.ticket(requester))).to.equal(1);
  });

  it('are not opened by a pool that closes', async () => {
    await pool.close();
    expect(await pool.open({}).catch((error) => error.code)).to.equal('shutting_down');
  });

  it('start without what pictures need, and load it for the first', async () => {
    // The engine is loaded in the task's time, which may be long on a busy machine.
    const lean = await pool.open({ lean: true, taskTimeoutMs: 60_000 });
    const bytes = new Uint8Array([1]);
    const outcome = await pool
      .ticket(requester, lean)
      .run({ ...callTask('picture'), files: { file: { bytes, type: 'image/png' } } });
    expect(outcome).to.include({ ok: false, code: 'bad_image' });
  });
});
