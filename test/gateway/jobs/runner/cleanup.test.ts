import { expect } from 'chai';
import { StoreError } from '../../../../gateway/database/store-error.js';
import { createJobId } from '../../../../gateway/jobs/model.js';
import { resultStore } from '../../../../gateway/jobs/results/result-store.js';
import { type Cleanup, startCleanup } from '../../../../gateway/jobs/runner/cleanup.js';
import { until } from '../../../needs.js';

const hourMs = 3_600_000;
const idsFrom = (first: number, count: number) =>
  Array.from({ length: count }, (_, at) => createJobId(first + at));

describe('jobs/runner/cleanup', () => {
  let cleanup: Cleanup;
  afterEach(() => cleanup.close());

  /** What is stored, of which `stuck` cannot be removed, and what a cleanup does with it. */
  function start({
    seesFiles = true,
    expired = [] as string[],
    ofFormer = [] as string[],
    stuck = [] as readonly string[],
    uncleared = [] as readonly string[],
    known = [] as readonly string[],
    stored = [] as readonly string[],
  }) {
    const done: string[] = [];
    const asked: number[] = [];
    const logged: object[] = [];
    const log = (line: object) => void logged.push(line);
    cleanup = startCleanup({
      store: {
        async expired(endedBefore, { most, skip }) {
          asked.push(endedBefore);
          return expired.slice(skip, skip + most);
        },
        ofFormerTenants: async ({ most, skip }) => ofFormer.slice(skip, skip + most),
        uncleared: async () => uncleared.filter((id) => !done.includes(`cleared ${id}`)),
        cleared: async (id) => void done.push(`cleared ${id}`),
        async remove(id) {
          done.push(`row ${id}`);
          for (const list of [expired, ofFormer]) if (list.includes(id)) list.splice(list.indexOf(id), 1);
        },
        known: async (ids) => ids.filter((id) => known.includes(id)),
      },
      results: {
        async removeAll(name) {
          if (stuck.some((id) => name.startsWith(id))) throw new StoreError(resultStore, new Error('EACCES'));
          done.push(`files ${name}`);
        },
        async *prefixes() {
          yield* stored;
        },
      },
      logger: { error: log, info: log },
      seesFiles: async () => seesFiles,
      ...{ ttlSeconds: 3_600, sweepAfterMs: 0, roundMs: 5 },
    });
    return { done, asked, logged };
  }

  it('forgets every job whose time has run out, its files before its rows', async () => {
    const expired = idsFrom(0, 25);
    const all = [...expired];
    const { done, asked } = start({ expired });
    await until(() => done.length >= 50);
    expect(done).to.deep.equal(all.flatMap((id) => [`files ${id}`, `row ${id}`]));
    expect(asked[0]).to.be.within(Date.now() - hourMs - 60_000, Date.now() - hourMs);
  });

  it('forgets all but those whose files cannot be removed, tries these again, and logs it once', async () => {
    const expired = idsFrom(0, 45);
    const stuck = expired.slice(0, 22);
    const rest = expired.slice(22);
    const { done, asked, logged } = start({ expired, stuck });
    await until(() => done.includes(`row ${rest.at(-1)}`));
    expect(done.filter((each) => each.startsWith('row'))).to.deep.equal(rest.map((id) => `row ${id}`));
    const before = asked.length;
    await until(() => asked.length > before + 10);
    expect(logged).to.have.length(1);
    stuck.length = 0;
    await until(() => expired.length === 0);
  });

  it('forgets the jobs of tenants that were deleted', async () => {
    const ofFormer = idsFrom(0, 2);
    const [one, two] = ofFormer;
    const { done } = start({ ofFormer });
    await until(() => done.length >= 4);
    expect(done).to.deep.equal([`files ${one}`, `row ${one}`, `files ${two}`, `row ${two}`]);
  });

  it('removes files that no job has, but those of jobs that may be being made or are another’s', async () => {
    const [lost, known] = [idsFrom(1_000, 600), idsFrom(1_000, 600)];
    const late = [createJobId(Date.now() - 24 * hourMs), createJobId(9_000_000_000_000), 'id', 'job_short'];
    const old = createJobId(Date.now() - 26 * hourMs);
    const [stuck = ''] = lost;
    const { done, logged } = start({ known, stored: [...lost, ...known, ...late, old], stuck: [stuck] });
    await until(() => logged.length === 2);
    expect(done).to.deep.equal([...lost.slice(1), old].map((id) => `files ${id}`));
    expect(logged[1]).to.deep.equal({ removed: 600 });
  });

  it('removes the inputs of jobs that have ended, where no other process has', async () => {
    const uncleared = idsFrom(1, 3);
    const { done } = start({ stuck: [uncleared[1] as string], uncleared });
    await until(() => done.includes(`cleared ${uncleared[2]}`));
    const [one, , three] = uncleared;
    expect(done).to.deep.equal([one, three].flatMap((id) => [`files ${id}/in`, `cleared ${id}`]));
  });

  it('touches nothing where it does not see the files of jobs', async () => {
    const { done, asked } = start({ seesFiles: false, expired: idsFrom(0, 2), uncleared: idsFrom(0, 2) });
    await cleanup.close();
    expect([...done, ...asked]).to.deep.equal([]);
  });
});
