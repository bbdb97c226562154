import { pathToFileURL } from 'node:url';
import { expect } from 'chai';
import { createPool, type Place, type Pool } from '../../pool/pool.js';
import { fixture } from '../fixtures.js';

function task(plugin: string, input: Record<string, unknown> = {}) {
  return {
    plugin: pathToFileURL(fixture(`plugins/pool/${plugin}.mjs`)).href,
    input,
    context: { service: plugin, request_id: 'r' },
  };
}

describe('the pool', () => {
  let pool: Pool;

  beforeEach(async () => {
    pool = createPool({
      threads: 1,
      queue: 9,
      worker: {
        engine: 'auto',
        limits: { maxPixels: 1e6, maxFrames: 10 },
        fonts: [],
        taskTimeoutMs: 5000,
      },
    });
    await pool.start();
  });

  afterEach(() => pool.close());

  it('lets a quiet tenant pass the line of a noisy one', async () => {
    const order: string[] = [];
    const run = async (tenant: string) => {
      const place = pool.reserve(tenant);
      await place.run(task('sleep', { ms: 20 }));
      order.push(tenant);
    };
    await Promise.all([...Array.from({ length: 8 }, () => run('noisy')), run('quiet')]);
    // One of the noisy tenant's tasks was running already; the quiet one is next.
    expect(order.indexOf('quiet')).to.be.at.most(1);
  });

  it('takes a waiting place from the noisy tenant where none is left, and says so', async () => {
    const places: Place[] = [];
    const running = Array.from({ length: 10 }, () => {
      const place = pool.reserve('noisy');
      places.push(place);
      return place.run(task('sleep', { ms: 50 })).then(
        () => 'done',
        (error) => error.code,
      );
    });
    const quiet = pool.reserve('quiet');
    expect(places.at(-1)?.signal.aborted).to.equal(true);
    expect((await quiet.run(task('echo'))).ok).to.equal(true);
    expect(await Promise.all(running)).to.deep.equal([...Array(9).fill('done'), 'tenant_busy']);
  });

  it('holds a running task’s place to its end', async () => {
    const place = pool.reserve('a');
    const done = place.run(task('sleep', { ms: 50 }));
    place.release();
    expect(pool.stats()).to.include({ running: 1, places: 1 });
    await done;
    expect(pool.stats()).to.include({ running: 0, places: 0 });
  });

  it('finishes what has a place when it closes, and takes nothing more', async () => {
    const done = pool.reserve('a').run(task('sleep', { ms: 50 }));
    const closing = pool.close();
    expect(() => pool.reserve('a'))
      .to.throw()
      .with.property('code', 'shutting_down');
    expect((await done).ok).to.equal(true);
    await closing;
  });

  it('moves the bytes of a source instead of copying them', async () => {
    const source = new Uint8Array([1, 2, 3]);
    const outcome = await pool.reserve('a').run({ ...task('echo'), source });
    expect(source.byteLength).to.equal(0);
    expect(outcome).to.include({ ok: false, code: 'bad_image' });
  });

  it('tells the time that a task took', async () => {
    const outcome = await pool.reserve('a').run(task('sleep', { ms: 30 }));
    expect(outcome.ms).to.be.within(25, 3000);
  });
});
