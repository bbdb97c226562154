import { expect } from 'chai';
import type { Lease } from '../../../../gateway/jobs/queue/job-queue.js';
import { createIntake } from '../../../../gateway/jobs/runner/intake.js';
import { createPatience } from '../../../../gateway/jobs/runner/patience.js';
import type { StartedItem } from '../../../../gateway/jobs/store/job-store.js';
import { until } from '../../../until.js';

describe('jobs/runner: the intake', () => {
  it('tells why items cannot be taken, and holds no lease of them', async () => {
    const waiting: Lease[] = [0, 1].map((index) => ({ tenant: 'a', job: 'job_a', index, token: 't' }));
    const held = new Set<Lease>();
    const told: unknown[] = [];
    const intake = createIntake({
      queue: {
        take: async (_, most) => waiting.splice(0, most),
        done: async () => undefined,
        release: async () => undefined,
      },
      store: {
        // The second was lost so often that it is put off.
        start: async (refs) =>
          refs.map((ref) => ({ ...ref, of: {}, attempt: ref.index === 0 ? 1 : 5 }) as StartedItem),
        open: async () => [],
        handBack: () => Promise.reject(new TypeError('a bug')),
      },
      leases: {
        hold: (lease) => void held.add(lease),
        drop: (lease) => void held.delete(lease),
        close() {},
      },
      patience: createPatience({ logger: { info() {}, warn() {} }, firstMs: 1 }),
      threads: 1,
      registry: { get: () => ({}) as never },
      inbound: { most: 1_000, bytes: 256e6 },
      logger: { error: (line: { err?: unknown }) => void told.push(line.err) },
      onItem: () => expect.fail('none can be begun'),
    });
    intake.open('a');
    await until(() => told.length > 0 && waiting.length === 0);
    await intake.close();
    expect(told.map(String)).to.deep.equal(['TypeError: a bug']);
    expect(held.size).to.equal(0);
  });
});
