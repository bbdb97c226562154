import type { Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect } from 'chai';
import type { Linger } from '../../../../gateway/http/server/linger.js';
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
    expect(written.length).to.be.within(1, 50);
    let most = 0;
    for (let turns = 0; turns < 1000 && written.length < 1000; turns += 1) {
      const before = written.length;
      await nextTurn();
      most = Math.max(most, written.length - before);
    }
    expect(most).to.be.at.most(100);
    expect(written).to.deep.equal([...sockets.keys()]);
  });
});
