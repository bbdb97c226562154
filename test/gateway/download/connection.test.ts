import { Socket } from 'node:net';
import { expect } from 'chai';
import fc from 'fast-check';
import * as undici from 'undici';
import {
  type Connection,
  closeConnection,
  createIdleConnections,
  openConnection,
} from '../../../gateway/download/connection.js';

const origin = 'https://example.com';
const open = (address = '1.1.1.1') => openConnection({ socket: new Socket(), address }, origin, undici);
const isOpen = ({ socket }: Connection) => !socket.destroyed;

describe('createIdleConnections', () => {
  it('keeps none that is a minute old, and nothing once it is closed', () => {
    let now = performance.now();
    const idle = createIdleConnections(() => now);
    const [owner, given, late] = [{ tenant: 'a', origin }, open(), open()];
    now += 59_000;
    idle.release(owner, given);
    expect(idle.acquire(owner, [given.address])).to.equal(given);
    now += 2_000;
    idle.release(owner, given);
    expect(isOpen(given)).to.equal(false);
    expect(idle.acquire(owner, [given.address])).to.equal(undefined);
    idle.close();
    idle.release(owner, late);
    expect(isOpen(late)).to.equal(false);
  });

  it('holds 16 of a tenant and 128 in whole, closes the oldest first and loses none', () => {
    const step = fc.record({
      tenant: fc.nat(15).map(String),
      origin: fc.constantFrom(origin, 'http://example.com'),
      address: fc.constantFrom('1.1.1.1', '1.1.1.2'),
      acquires: fc.integer({ min: 0, max: 3 }).map((draw) => draw === 0),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 400, size: 'max' }), (steps) => {
        const idle = createIdleConnections();
        let model: { tenant: string; origin: string; connection: Connection }[] = [];
        const given: Connection[] = [];
        for (const { tenant, origin, address, acquires } of steps) {
          if (acquires) {
            const expected = model.findLast(
              (entry) =>
                entry.tenant === tenant && entry.origin === origin && entry.connection.address === address,
            );
            expect(idle.acquire({ tenant, origin }, [address])).to.equal(expected?.connection);
            model = model.filter((entry) => entry !== expected);
            if (expected) closeConnection(expected.connection);
          } else {
            const entry = { tenant, origin, connection: open(address) };
            idle.release(entry, entry.connection);
            given.push(entry.connection);
            model.push(entry);
            const own = model.filter((other) => other.tenant === tenant);
            if (own.length > 16) model = model.filter((other) => other !== own[0]);
            if (model.length > 128) model.shift();
          }
        }
        expect(given.filter(isOpen)).to.deep.equal(model.map((entry) => entry.connection));
        idle.close();
        expect(given.some(isOpen)).to.equal(false);
      }),
      { numRuns: 50 },
    );
  }).timeout(30_000);
});
