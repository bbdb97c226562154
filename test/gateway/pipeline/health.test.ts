import { expect } from 'chai';
import { type Readiness, ready } from '../../../gateway/pipeline/health.js';
import type { Answer } from '../../../pool/answer.js';

const sound: Readiness = { engine: 'sharp', keys: 'available', threads: 1, missing: [], slowed: [] };

async function answer(readiness: Readiness | undefined, mayKnow = true): Promise<unknown> {
  const ctx = { state: {} as { result?: Answer } };
  const mayKnowIt = async () => mayKnow;
  const stage = ready(() => readiness, mayKnowIt);
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
    const { missing, slowed, ...shown } = sound;
    expect(await answer(sound)).to.deep.equal({ status: 'ready', ...shown });
    const partly = { ...sound, missing: ['text/x'], slowed: ['text/y', 'text/z'] };
    const plugins = { 'text/y': 'one_at_a_time', 'text/z': 'one_at_a_time' };
    expect(await answer(partly)).to.deep.include({ missing: ['text/x'], plugins });
    expect(await answer(partly, false), 'for a stranger').to.deep.include({ missing: 1, plugins: 2 });
  });

  it('is busy while no thread can run calls, and says what is missing', async () => {
    const none = { ...sound, threads: 0 };
    const missing = { ...none, missing: ['text/x'] };
    const busy = '503 busy: No worker thread is ready';
    expect(await answer(none)).to.equal(`${busy} yet.`);
    expect(await answer(missing)).to.equal(`${busy}: the plugin text/x cannot be loaded in one.`);
    expect(await answer(missing, false)).to.equal(`${busy}: a plugin cannot be loaded in one.`);
  });

  it('is shutting down at the end', async () => {
    expect(await answer(undefined)).to.match(/^503 shutting_down/);
  });
});
