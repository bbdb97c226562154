import { expect } from 'chai';
import { createLastUsed } from '../../../gateway/keys/key-cache.js';

const never = 2 ** 30;
const most = 100_000;
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

function createRecorded(max = most) {
  const recorder = createRecorder();
  return { recorder, lastUsed: createLastUsed(recorder, never, max) };
}

describe('keys/last-used', () => {
  it('hands on few at a time, the oldest keys first, whatever order they were used in', async () => {
    const { recorder, lastUsed } = createRecorded();
    for (let n = 0; n < 5_000; n += 1) lastUsed.note(keyOf((n * 2_003) % 5_000), n);
    await lastUsed.flush();
    expect(Math.max(...recorder.batches.map(({ size }) => size))).to.be.at.most(1_000);
    const written = recorder.batches.flatMap((batch) => [...batch.keys()]);
    expect(written).to.deep.equal(Array.from({ length: 5_000 }, (_, age) => keyOf(age).id));
    await lastUsed.close();
  });

  it('writes a key once, with its last use', async () => {
    const { recorder, lastUsed } = createRecorded();
    for (const at of [1, 2, 3]) lastUsed.note(keyOf(1), at);
    await lastUsed.close();
    expect(recorder.batches).to.deep.equal([new Map([[keyOf(1).id, 3]])]);
  });

  it('lets at most so many keys wait, also while the database is away', async () => {
    const { recorder, lastUsed } = createRecorded(3);
    const keys = [1, 2, 3, 4, 5].map(keyOf);
    for (const key of keys.slice(0, 4)) lastUsed.note(key, 10);
    recorder.failing = true;
    const writing = lastUsed.flush();
    for (const key of keys) lastUsed.note(key, 20);
    await writing;
    recorder.failing = false;
    await lastUsed.flush();
    expect(recorder.batches.map((batch) => batch.size)).to.deep.equal([3]);
    for (const key of keys) lastUsed.note(key, 30);
    await lastUsed.flush();
    expect([...(recorder.batches[1]?.values() ?? [])]).to.deep.equal([30, 30, 30]);
    await lastUsed.close();
  });

  it('writes the later use of a key that was forgotten and read again, and what came while it was written', async () => {
    const { recorder, lastUsed } = createRecorded();
    const again = keyOf(1);
    lastUsed.note(again, 20);
    lastUsed.note(keyOf(1), 10);
    const writing = lastUsed.flush();
    await writing;
    lastUsed.note(again, 30);
    await lastUsed.close();
    expect(recorder.batches).to.deep.equal([20, 30].map((at) => new Map([[again.id, at]])));
  });

  it('keeps what could not be written, and what came meanwhile is newer', async () => {
    const { recorder, lastUsed } = createRecorded();
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
