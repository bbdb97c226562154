import { expect } from 'chai';
import { createFileRoom } from '../../../../gateway/jobs/runner/read-item.js';
import { rejection } from '../../keys/key-store-contract.js';

describe('jobs/runner/read-item: room for files', () => {
  let held: number;
  let room: ReturnType<typeof createFileRoom>;
  let entered: string[];

  beforeEach(() => {
    [held, entered] = [0, []];
    room = createFileRoom(100, {
      hold(_, bytes) {
        held += bytes;
        return () => {
          held -= bytes;
        };
      },
    });
  });

  async function enter(name: string, bytes: number, signal = new AbortController().signal) {
    const leave = await room.enter(name.slice(0, 1), bytes, signal);
    entered.push(name);
    return leave;
  }
  const settled = () => new Promise(setImmediate);

  it('is counted in the inbound budget until it is given back', async () => {
    const leave = await enter('a', 30);
    expect(held).to.equal(30);
    leave();
    expect(held).to.equal(0);
  });

  it('lets a tenant have half, and always one file, and the next wait until there is room', async () => {
    const first = await enter('a1', 40);
    const waiting = [enter('a2', 40), enter('a3', 5)];
    await enter('b1', 90);
    await settled();
    expect(entered).to.deep.equal(['a1', 'b1']);
    first();
    await settled();
    expect(entered).to.deep.equal(['a1', 'b1', 'a2']);
    (await waiting[0])?.();
    await waiting[1];
    expect([entered.at(-1), held]).to.deep.equal(['a3', 95]);
  });

  it('is not waited for by what is given up', async () => {
    const first = await enter('a1', 40);
    const stop = new AbortController();
    const waiting = rejection(enter('a2', 40, stop.signal));
    stop.abort();
    expect(await waiting).to.include({ code: 'shutting_down' });
    first();
    await settled();
    expect([entered, held]).to.deep.equal([['a1'], 0]);
    stop.abort();
    expect(
      await rejection(room.enter('a', 200, stop.signal).then(() => room.enter('a', 1, stop.signal))),
    ).to.include({
      code: 'shutting_down',
    });
  });
});
