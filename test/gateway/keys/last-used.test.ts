import { expect } from 'chai';
import { createLastUsed } from '../../../gateway/keys/last-used.js';

const never = 2 ** 30;
const keyOf = (age: number) => ({ id: `key_${age % 7}_${age}`, created_at: age });

/** A store that keeps what it is told to write, and fails while `failing`. */
function createRecorder() {
  const recorder = {
    failing: false,
    batches: [] as Map<string, number>[],
    async touch(uses: ReadonlyMap<string, number>) {
      if (recorder.failing) throw new Error('gone');
      recorder.batches.push(new Map(uses));
    },
  };
  return recorder;
}

describe('keys/last-used', () => {
  it('hands on few at a time, the oldest keys first, whatever order they were used in', async () => {
    const recorder = createRecorder();
    const lastUsed = createLastUsed(recorder, never);
    for (let n = 0; n < 5_000; n += 1) lastUsed.note(keyOf((n * 2_003) % 5_000), n);
    await lastUsed.flush();
    expect(Math.max(...recorder.batches.map(({ size }) => size))).to.be.at.most(1_000);
    const written = recorder.batches.flatMap((batch) => [...batch.keys()]);
    expect(written).to.deep.equal(Array.from({ length: 5_000 }, (_, age) => keyOf(age).id));
    await lastUsed.close();
  });

  it('writes a key once, with its last use', async () => {
    const recorder = createRecorder();
    const lastUsed = createLastUsed(recorder, never);
    for (const at of [1, 2, 3]) lastUsed.note(keyOf(1), at);
    await lastUsed.close();
    expect(recorder.batches).to.deep.equal([new Map([[keyOf(1).id, 3]])]);
  });

  it('keeps what could not be written, and what came meanwhile is newer', async () => {
    const recorder = createRecorder();
    const lastUsed = createLastUsed(recorder, never);
    for (const age of [1, 2]) lastUsed.note(keyOf(age), 10);
    recorder.failing = true;
    const writing = lastUsed.flush();
    lastUsed.note(keyOf(2), 20);
    await writing;
    recorder.failing = false;
    await lastUsed.flush();
    expect(recorder.batches).to.deep.equal([
      new Map([
        [keyOf(1).id, 10],
        [keyOf(2).id, 20],
      ]),
    ]);
    await lastUsed.close();
  });
});
