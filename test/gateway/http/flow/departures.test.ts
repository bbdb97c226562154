import { EventEmitter } from 'node:events';
import type { ServerResponse } from 'node:http';
import { expect } from 'chai';
import { createDepartures, type Departures } from '../../../../gateway/http/flow/departures.js';
import { until } from '../../../until.js';

/** A response as far as departures know one. */
class Response extends EventEmitter {
  destroyed = false;
  /** Null where the answer to an earlier request of the connection is still under way. */
  socket: object | null = {};
  writableFinished = false;
  destroy(): void {
    this.destroyed = true;
    this.emit('close');
  }
}

describe('departures', () => {
  let now = 0;
  let rooms: string[] = [];
  let departures: Departures;

  function send(tenant: string, bytes: number) {
    const response = new Response();
    return { response, ...departures.track(response as unknown as ServerResponse, tenant, bytes) };
  }

  beforeEach(() => {
    now = 0;
    rooms = [];
    departures = createDepartures({ bytes: 1000, onRoom: (tenant) => rooms.push(tenant), now: () => now });
  });
  afterEach(() => departures.close());

  it('stop a tenant’s work at half of the budget until an answer is taken', () => {
    const { response } = send('a', 500);
    expect(departures.backlog('a')).to.equal('own');
    expect(departures.backlog('b')).to.equal(undefined);
    response.emit('close');
    expect(departures.backlog('a')).to.equal(undefined);
    expect(rooms).to.deep.equal(['a']);
  });

  it('count a small answer only where it is not out at the end of the turn', async () => {
    const [taken, held] = [new Response(), new Response()];
    for (const response of [taken, held]) {
      departures.trackSmall(response as unknown as ServerResponse, 'a', 500);
    }
    taken.writableFinished = true;
    expect(departures.stats().bytes).to.equal(0);
    await new Promise(setImmediate);
    expect(departures.stats().bytes).to.equal(500);
    expect(departures.backlog('a')).to.equal('own');
    held.emit('close');
    expect(departures.stats().bytes).to.equal(0);
  });

  it('do not count what nobody takes, for the client has gone before it was made', async () => {
    const response = new Response();
    response.destroy();
    departures.track(response as unknown as ServerResponse, 'a', 500).sent(500);
    departures.trackSmall(response as unknown as ServerResponse, 'a', 500);
    await new Promise(setImmediate);
    expect([departures.backlog('a'), departures.stats().bytes]).to.deep.equal([undefined, 0]);
  });

  it('past the whole stop everybody but who waits for nothing', () => {
    send('a', 900);
    send('b', 100);
    expect(['a', 'b', 'c'].map(departures.backlog)).to.deep.equal(['own', 'all', undefined]);
  });

  it('are given up where the client takes nothing, not where it takes its time', async () => {
    const silent = send('a', 400);
    const slow = send('a', 400);
    now = 8000;
    slow.sent(64 * 1024);
    now = 9001;
    await until(() => silent.response.destroyed);
    expect([silent.response.destroyed, slow.response.destroyed]).to.deep.equal([true, false]);
    expect(departures.stats().bytes).to.equal(400);
  });

  it('are not given up while the client waits for the gateway, and have all their time after that', async () => {
    const silent = send('a', 100);
    const waiting = send('a', 100);
    waiting.waits(true);
    now = 9001;
    await until(() => silent.response.destroyed);
    waiting.waits(false);
    now = 18_000;
    const next = send('a', 100);
    await new Promise((resolve) => setTimeout(resolve, 120));
    expect([waiting.response.destroyed, next.response.destroyed]).to.deep.equal([false, false]);
    now = 18_003;
    await until(() => waiting.response.destroyed);
  });

  it('wait as long as it takes for the answer before them on their connection', async () => {
    const [first, queued] = [send('a', 100), new Response()];
    queued.socket = null;
    departures.track(queued as unknown as ServerResponse, 'a', 100);
    now = 9001;
    await until(() => first.response.destroyed);
    expect(queued.destroyed).to.equal(false);
    queued.socket = {};
    queued.emit('socket');
    now = 18_001;
    const second = send('a', 100);
    now = 18_003;
    await until(() => queued.destroyed);
    expect(second.response.destroyed).to.equal(false);
  });

  it('are given up after two minutes, however well they go', async () => {
    const { response, sent } = send('a', 400);
    now = 120_001;
    sent(1e9);
    await until(() => response.destroyed);
  });
});
