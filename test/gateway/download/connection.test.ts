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
const connection = (address = '1.1.1.1') => openConnection({ socket: new Socket(), address }, origin, undici);
const isOpen = ({ socket }: Connection) => !socket.destroyed;

describe('createIdleConnections', () => {
  it('keeps none that is a minute old', () => {
    let now = performance.now();
    const kept = createIdleConnections(() => now);
    const given = connection();
    now += 59_000;
    kept.release({ tenant: 'a', origin }, given);
    expect(kept.acquire({ tenant: 'a', origin }, [given.address])).to.equal(given);
    now += 2_000;
    kept.release({ tenant: 'a', origin }, given);
    expect(isOpen(given)).to.equal(false);
    expect(kept.acquire({ tenant: 'a', origin }, [given.address])).to.equal(undefined);
  });

  it('keeps nothing once it is closed', () => {
    const kept = createIdleConnections();
    const [early, late] = [connection(), connection()];
    kept.release({ tenant: 'a', origin }, early);
    kept.close();
    kept.release({ tenant: 'a', origin }, late);
    expect([early, late].some(isOpen)).to.equal(false);
  });

  it('holds 16 of a tenant and 128 in whole, closes the oldest first and loses none', () => {
    const step = fc.record({
      tenant: fc.nat(15).map(String),
      origin: fc.constantFrom(origin, 'http://example.com'),
      address: fc.constantFrom('1.1.1.1', '1.1.1.2'),
      take: fc.integer({ min: 0, max: 3 }).map((draw) => draw === 0),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 400, size: 'max' }), (steps) => {
        const kept = createIdleConnections();
        let model: { tenant: string; origin: string; connection: Connection }[] = [];
        const given: Connection[] = [];
        for (const { tenant, origin, address, take } of steps) {
          if (take) {
            const expected = model.findLast(
              (entry) =>
                entry.tenant === tenant && entry.origin === origin && entry.connection.address === address,
            );
            expect(kept.acquire({ tenant, origin }, [address])).to.equal(expected?.connection);
            model = model.filter((entry) => entry !== expected);
            if (expected) closeConnection(expected.connection);
          } else {
            const entry = { tenant, origin, connection: connection(address) };
            kept.release(entry, entry.connection);
            given.push(entry.connection);
            model.push(entry);
            const own = model.filter((other) => other.tenant === tenant);
            if (own.length > 16) model = model.filter((other) => other !== own[0]);
            if (model.length > 128) model.shift();
          }
        }
        const open = given.flatMap((each, at) => (isOpen(each) ? [at] : []));
        expect(open).to.deep.equal(model.map((entry) => given.indexOf(entry.connection)));
        kept.close();
        expect(given.some(isOpen)).to.equal(false);
      }),
      { numRuns: 50 },
    );
  }).timeout(30_000);
});
