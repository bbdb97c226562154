import { expect } from 'chai';
import fc from 'fast-check';
import { FairQueue } from '../../pool/fair-queue.js';

/** Runs `count` items one after the other, each taking what `cost` says, and gives the time each tenant got. */
function serve(
  queue: FairQueue<string>,
  count: number,
  cost: (tenant: string) => number,
): Map<string, number> {
  const received = new Map<string, number>();
  for (let i = 0; i < count; i += 1) {
    const next = queue.shift(() => 10);
    if (!next) break;
    const spent = cost(next.tenant);
    received.set(next.tenant, (received.get(next.tenant) ?? 0) + spent);
    queue.settle(next.tenant, 10, spent);
  }
  return received;
}

function fill(queue: FairQueue<string>, tenant: string, count: number, weight = 1): void {
  for (let i = 0; i < count; i += 1) queue.push(tenant, `${tenant}${i}`, weight);
}

describe('FairQueue', () => {
  it('keeps the order within a tenant', () => {
    const queue = new FairQueue<string>();
    fill(queue, 'a', 3);
    expect([
      queue.shift(() => 1)?.item,
      queue.shift(() => 1)?.item,
      queue.shift(() => 1)?.item,
    ]).to.deep.equal(['a0', 'a1', 'a2']);
    expect(queue.shift(() => 1)).to.equal(undefined);
  });

  it('lets a quiet tenant pass the line of a noisy one', () => {
    const queue = new FairQueue<string>();
    fill(queue, 'noisy', 100);
    queue.shift(() => 10);
    fill(queue, 'quiet', 1);
    expect(queue.shift(() => 10)?.tenant).to.equal('quiet');
  });

  it('shares by the time that work takes, not by the number of items', () => {
    const queue = new FairQueue<string>();
    fill(queue, 'slow', 1000);
    fill(queue, 'fast', 1000);
    const received = serve(queue, 550, (tenant) => (tenant === 'slow' ? 100 : 10));
    expect((received.get('slow') as number) / (received.get('fast') as number)).to.be.closeTo(1, 0.1);
  });

  it('shares by weight', () => {
    const queue = new FairQueue<string>();
    fill(queue, 'light', 1000, 1);
    fill(queue, 'heavy', 1000, 3);
    const received = serve(queue, 400, () => 10);
    expect((received.get('heavy') as number) / (received.get('light') as number)).to.be.closeTo(3, 0.1);
  });

  it('saves up no time for a tenant that was idle', () => {
    const queue = new FairQueue<string>();
    fill(queue, 'busy', 200);
    fill(queue, 'late', 1);
    serve(queue, 100, () => 10);
    fill(queue, 'late', 100);
    const received = serve(queue, 40, () => 10);
    expect(received.get('late')).to.be.closeTo(200, 20);
  });

  it('forgets an item that is taken out', () => {
    const queue = new FairQueue<string>();
    fill(queue, 'a', 2);
    expect(queue.remove('a', 'a0')).to.equal(true);
    expect(queue.remove('a', 'a0')).to.equal(false);
    expect(queue.size).to.equal(1);
    expect(queue.shift(() => 1)?.item).to.equal('a1');
  });

  it('hands out every item exactly once, whatever the order of calls', () => {
    const step = fc.oneof(
      fc.record({ push: fc.constantFrom('a', 'b', 'c') }),
      fc.record({ shift: fc.integer({ min: 0, max: 100 }) }),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
        const queue = new FairQueue<number>();
        const waiting = new Set<number>();
        let id = 0;
        for (const one of steps) {
          if ('push' in one) {
            queue.push(one.push, id);
            waiting.add(id);
            id += 1;
            continue;
          }
          const next = queue.shift(() => 10);
          expect(next === undefined).to.equal(waiting.size === 0);
          if (next) {
            expect(waiting.delete(next.item)).to.equal(true);
            queue.settle(next.tenant, 10, one.shift);
          }
        }
        expect(queue.size).to.equal(waiting.size);
      }),
    );
  });
});
