import type { IncomingMessage, ServerResponse } from 'node:http';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect } from 'chai';
import { serveRoundRobin } from '../../../gateway/http/round-robin.js';

describe('serveRoundRobin', () => {
  function listen() {
    const begun: string[] = [];
    const begin = serveRoundRobin(({ url }) => void begun.push(url ?? ''));
    const ask = (url: string, destroyed = false, headers = {}) =>
      begin({ url, headers, socket: { destroyed } } as IncomingMessage, {} as ServerResponse);
    return { begun, ask };
  }

  async function quiet(begun: string[]): Promise<void> {
    for (let length = -1; length !== begun.length; await nextTurn()) {
      length = begun.length;
      await nextTurn();
    }
  }

  it('begins a few at once, the others in the turns that follow, all in their order', async () => {
    const { begun, ask } = listen();
    const urls = Array.from({ length: 200 }, (_, at) => `/${at}`);
    for (const url of urls) ask(url);
    expect(begun.length).to.be.within(1, 50);
    await quiet(begun);
    expect(begun).to.deep.equal(urls);
    ask('/later');
    expect(begun.at(-1)).to.equal('/later');
  });

  it('begins what comes with one key in turn with what comes with others, however it is sent', async () => {
    const { begun, ask } = listen();
    for (let at = 0; at < 200; at += 1) ask(`/flood/${at}?x=1&ak=noisy`);
    const others = ['/one?ak=quiet', '/two?kid=quiet&sig=x', '/three'];
    for (const url of others.slice(0, 2)) ask(url);
    ask('/three', false, { authorization: 'Bearer quiet' });
    const before = begun.length;
    await nextTurn();
    await nextTurn();
    expect(begun.slice(before, before + 20)).to.include.members(others);
    await quiet(begun);
    const flood = begun.filter((url) => url.startsWith('/flood'));
    expect(flood).to.deep.equal(flood.toSorted((a, b) => Number(/\d+/.exec(a)) - Number(/\d+/.exec(b))));
    expect(begun).to.have.length(203);
  });

  it('answers what asks for health at once', () => {
    const { begun, ask } = listen();
    for (let at = 0; at < 200; at += 1) ask('/x');
    ask('/healthz');
    ask('/readyz?x');
    expect(begun.slice(-2)).to.deep.equal(['/healthz', '/readyz?x']);
  });

  it('begins nothing for a client that has gone meanwhile', async () => {
    const { begun, ask } = listen();
    for (let at = 0; at < 100; at += 1) ask('/x');
    ask('/gone', true);
    await quiet(begun);
    expect(begun).not.to.include('/gone');
  });
});
