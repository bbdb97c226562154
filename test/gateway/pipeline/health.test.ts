import { expect } from 'chai';
import { type Readiness, ready } from '../../../gateway/pipeline/health.js';
import type { Answer } from '../../../pool/answer.js';

const sound: Readiness = { engine: 'sharp', keys: 'available', threads: 1, missing: [], slowed: [] };

async function answer(readiness: Readiness | undefined, mayKnow = true): Promise<unknown> {
  const ctx = { state: {} as { result?: Answer } };
  const stage = ready(
    () => readiness,
    async () => mayKnow,
  );
  try {
    await stage(ctx as unknown as Parameters<typeof stage>[0], async () => undefined);
    return JSON.parse((ctx.state.result as { text: string }).text);
  } catch (error) {
    const { status, code, message } = error as { status: number; code: string; message: string };
    return `${status} ${code}: ${message}`;
  }
}

describe('/readyz', () => {
  it('is ready where one thread is, and names what the others cannot load', async () => {
    expect(await answer(sound)).to.deep.equal({
      status: 'ready',
      engine: 'sharp',
      keys: 'available',
      threads: 1,
    });
    expect(await answer({ ...sound, missing: ['text/x'] })).to.deep.include({ missing: ['text/x'] });
    expect(await answer({ ...sound, slowed: ['text/x'] })).to.deep.include({
      plugins: { 'text/x': 'one_at_a_time' },
    });
  });

  it('names no helper to a client that may not know of any', async () => {
    expect(
      await answer({ ...sound, missing: ['text/x'], slowed: ['text/y', 'text/z'] }, false),
    ).to.deep.include({
      missing: 1,
      plugins: 2,
    });
    expect(await answer({ ...sound, threads: 0, missing: ['text/x'] }, false)).to.equal(
      '503 busy: No worker thread is ready: a plugin cannot be loaded in one.',
    );
  });

  it('is busy while no thread can take calls, and says what is missing', async () => {
    expect(await answer({ ...sound, threads: 0 })).to.equal('503 busy: No worker thread is ready yet.');
    expect(await answer({ ...sound, threads: 0, missing: ['text/x'] })).to.equal(
      '503 busy: No worker thread is ready: the plugin text/x cannot be loaded in one.',
    );
  });

  it('is shutting down at the end', async () => {
    expect(await answer(undefined)).to.match(/^503 shutting_down/);
  });
});
