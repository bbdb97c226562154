import { expect } from 'chai';
import { nextTry, readRetryAfter } from '../../../../gateway/jobs/webhooks/schedule.js';

const second = 1000;
const hour = 3_600_000;

describe('jobs/webhooks/schedule', () => {
  /** Seconds from a delivery's beginning at which it is tried, where each try fails at once. */
  function triesOf(random: number): number[] {
    const tries = [0];
    for (let attempts = 1; ; attempts += 1) {
      const now = (tries.at(-1) ?? 0) * second;
      const next = nextTry({ attempts, createdAt: 0, now, random });
      if (next === undefined) return tries;
      tries.push(next / second);
    }
  }

  it('tries again after seconds, minutes and hours, at the end of a day for the last time', () => {
    expect(triesOf(0)).to.deep.equal([
      0, 5, 35, 155, 755, 2555, 6155, 13_355, 24_155, 34_955, 45_755, 56_555, 67_355, 78_155, 86_400,
    ]);
  });

  it('tries a second time within 15 seconds, and never at one moment with all others', () => {
    const [, first = 0] = triesOf(1);
    expect(first).to.equal(6.25);
    expect(triesOf(0.5)[3]).to.be.greaterThan(triesOf(0)[3] ?? 0);
  });

  it('leaves a receiver alone for as long as it says, within bounds', () => {
    const failed = { attempts: 1, createdAt: 0, now: 0, random: 0 };
    expect(nextTry({ ...failed, retryAfterMs: 1 })).to.equal(5 * second);
    expect(nextTry({ ...failed, retryAfterMs: 90 * second })).to.equal(90 * second);
    expect(nextTry({ ...failed, retryAfterMs: 1000 * hour })).to.equal(6 * hour);
  });

  it('tries what nobody could try for a day once, and no more', () => {
    expect(nextTry({ attempts: 1, createdAt: 0, now: 24 * hour, random: 0 })).to.equal(undefined);
    expect(nextTry({ attempts: 1, createdAt: 0, now: 24 * hour - 1, random: 0 })).to.equal(24 * hour);
  });

  it('reads Retry-After in seconds and as a date', () => {
    const now = Date.UTC(2030, 0, 1);
    expect(readRetryAfter('120', now)).to.equal(120_000);
    expect(readRetryAfter('Tue, 01 Jan 2030 00:00:30 GMT', now)).to.equal(30_000);
    expect(readRetryAfter('Mon, 31 Dec 2029 00:00:00 GMT', now)).to.equal(0);
    for (const none of [undefined, '', 'soon', '-5x', ['1', '2']])
      expect(readRetryAfter(none, now), String(none)).to.equal(undefined);
  });
});
