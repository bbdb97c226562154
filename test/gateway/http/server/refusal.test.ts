import type { Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect } from 'chai';
import type { Call, Linger } from '../../../../gateway/http/server/linger.js';
import { createFaultAnswer } from '../../../../gateway/http/server/refusal.js';

describe('faults of connections', () => {
  const linger = { lastCall: () => undefined, end: () => undefined } as unknown as Linger;

  it('of thousands whose time is over at once are answered a few a turn, each once', async () => {
    const written: number[] = [];
    const answer = createFaultAnswer(linger);
    const late = Object.assign(new Error(), { code: 'ERR_HTTP_REQUEST_TIMEOUT' });
    const sockets = Array.from({ length: 1000 }, (_, at) => {
      const socket = { writable: true, on: () => socket, write: () => written.push(at) };
      return socket as unknown as Socket;
    });
    for (const socket of sockets) for (let times = 0; times < 2; times += 1) answer(late, socket);
    expect(written).to.have.length(0);
    let most = 0;
    for (let turns = 0; turns < 1000 && written.length < 1000; turns += 1) {
      const before = written.length;
      await nextTurn();
      most = Math.max(most, written.length - before);
    }
    expect(most).to.be.at.most(100);
    expect(written).to.deep.equal([...sockets.keys()]);
  });

  it('are none where what was late has come while this thread was busy', async () => {
    let call: Call | undefined;
    const answer = createFaultAnswer({ ...linger, lastCall: () => call });
    const written: unknown[] = [];
    const socket = { writable: true, on: () => socket, write: (text: unknown) => written.push(text) };
    const late = Object.assign(new Error(), { code: 'ERR_HTTP_REQUEST_TIMEOUT' });
    const tell = () => answer(late, socket as unknown as Socket);
    const callOf = (complete: boolean) => ({ request: { complete } }) as unknown as Call;

    tell();
    // Its head has been read now.
    call = callOf(false);
    await nextTurn();
    await nextTurn();
    expect(written).to.have.length(0);
    tell();
    // Its body has been read now.
    (call.request as { complete: boolean }).complete = true;
    await nextTurn();
    await nextTurn();
    expect(written).to.have.length(0);
    call = undefined;
    tell();
    await nextTurn();
    await nextTurn();
    expect(written).to.have.length(1);
  });
});
