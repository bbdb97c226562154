import { expect } from 'chai';
import { StoreError } from '../../../../gateway/database/store-error.js';
import { createJobId } from '../../../../gateway/jobs/model.js';
import { resultStore } from '../../../../gateway/jobs/results/result-store.js';
import { type Cleanup, startCleanup, sweepResults } from '../../../../gateway/jobs/runner/cleanup.js';
import { until } from '../../../needs.js';

const logger = { error() {}, info() {}, warn() {} };
const hourMs = 3_600_000;

describe('jobs/runner/forget-jobs', () => {
  let forgetting: Cleanup;
  afterEach(() => forgetting.close());

  function world({
    seesFiles = true,
    expired = Array.from({ length: 25 }, (_, at) => createJobId(at)),
    stuck = [] as readonly string[],
    unclear = [] as readonly string[],
  } = {}) {
    const faults: object[] = [];
    const told: string[] = [];
    const asked: number[] = [];
    const lost = [createJobId(Date.now() - 26 * hourMs), createJobId(Date.now() - 24 * hourMs)];
    forgetting = startCleanup({
      store: {
        async expired(endedBefore, { most, skip = 0 }) {
          asked.push(endedBefore);
          return expired.slice(skip, skip + most).map((id) => ({ id, tenant_id: 'a' }));
        },
        uncleared: async () => unclear.filter((id) => !told.includes(`cleared ${id}`)),
        cleared: async ([id]) => void told.push(`cleared ${id}`),
        async remove(id) {
          told.push(`row ${id}`);
          expired.splice(expired.indexOf(id), 1);
        },
        known: async () => [],
      },
      results: {
        async removeAll(name) {
          if (stuck.some((id) => name.startsWith(id))) throw new StoreError(resultStore, new Error('EACCES'));
          told.push(`files ${name}`);
        },
        async *prefixes() {
          yield* lost;
        },
      },
      logger: { ...logger, error: (line: object) => void faults.push(line) },
      ttlSeconds: 3_600,
      seesFiles: async () => seesFiles,
      sweepAfterMs: 0,
      roundMs: 5,
    });
    return { told, asked, lost, faults, all: [...expired] };
  }

  it('forgets every job whose time has run out, its files before its rows', async () => {
    const { told, asked, all } = world();
    await until(() => told.length >= 50);
    expect(told.slice(0, 50)).to.deep.equal(all.flatMap((id) => [`files ${id}`, `row ${id}`]));
    expect(asked[0]).to.be.within(Date.now() - hourMs - 60_000, Date.now() - hourMs);
  });

  it('removes files that no job has, but those of a job that may be kept somewhere', async () => {
    const { told, lost } = world();
    await until(() => told.length === 51);
    expect(told[50]).to.equal(`files ${lost[0]}`);
  });

  it('forgets all but those whose files cannot be removed, tries these again, and logs it once', async () => {
    const expired = Array.from({ length: 45 }, (_, at) => createJobId(at));
    const stuck = expired.slice(0, 22);
    const rest = expired.slice(22);
    const { told, asked, faults } = world({ expired, stuck });
    await until(() => told.includes(`row ${rest.at(-1)}`));
    expect(told.filter((each) => each.startsWith('row'))).to.deep.equal(rest.map((id) => `row ${id}`));
    const before = asked.length;
    await until(() => asked.length > before + 10);
    expect(faults).to.have.length(1);
    stuck.length = 0;
    await until(() => expired.length === 0);
  });

  it('removes the inputs of jobs that have ended, where nobody else has', async () => {
    const unclear = [createJobId(1), createJobId(2), createJobId(3)];
    const { told } = world({ expired: [], stuck: [unclear[1] as string], unclear });
    await until(() => told.includes(`cleared ${unclear[2]}`));
    expect(told.filter((each) => each.startsWith('cleared'))).to.have.length(2);
    expect(told).to.include(`files ${unclear[0]}/in`).and.not.include(`cleared ${unclear[1]}`);
  });

  it('touches nothing where it does not see the files of jobs', async () => {
    const { told, asked } = world({ seesFiles: false });
    await forgetting.close();
    expect([...told, ...asked]).to.deep.equal([]);
  });
});

describe('jobs/results/sweep', () => {
  it('removes what no job has, but for jobs that may be being made', async () => {
    const lost = Array.from({ length: 600 }, (_, at) => createJobId(1_000 + at));
    const kept = Array.from({ length: 600 }, (_, at) => createJobId(1_000 + at));
    const others = [createJobId(5_000), createJobId(9_000_000_000_000), 'id', 'job_short'];
    const removed: string[] = [];
    const results = {
      async *prefixes() {
        yield* [...lost, ...kept, ...others];
      },
      removeAll: async (id: string) => void removed.push(id),
    };
    const known = async (ids: readonly string[]) => ids.filter((id) => kept.includes(id));
    const fail = () => expect.fail('nothing was in the way');
    expect(await sweepResults(results, { known }, { madeBefore: 5_000, fail })).to.equal(600);
    expect(removed).to.deep.equal(lost);
  });

  it('goes on behind what cannot be removed', async () => {
    const lost = [1, 2, 3].map((at) => createJobId(at));
    const faults: unknown[] = [];
    const removed: string[] = [];
    const results = {
      async *prefixes() {
        yield* lost;
      },
      async removeAll(id: string) {
        if (id === lost[1]) throw new Error('busy');
        removed.push(id);
      },
    };
    const options = { madeBefore: 5_000, fail: (error: unknown) => void faults.push(error) };
    expect(await sweepResults(results, { known: async () => [] }, options)).to.equal(2);
    expect([removed, faults.length]).to.deep.equal([[lost[0], lost[2]], 1]);
  });
});
