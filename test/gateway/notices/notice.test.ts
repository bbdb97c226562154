import { expect } from 'chai';
import fc from 'fast-check';
import { budgetNotice, keyNotice, webhookNotice } from '../../../gateway/notices/notice.js';

const dayMs = 86_400_000;
const acme = { id: 'ten_1', name: 'acme', notice_url: null };
type Step = { limit: number; used: number };

/** The notices of a month in which a tenant's use and its limit change like this, one after the other. */
function noticesOf(steps: readonly Step[]): (Step & { threshold: number })[] {
  const found = steps.flatMap((step) => budgetNotice({ ...acme, ...step }, 'monthly_quota', '2030-01') ?? []);
  const first = found.filter(({ name }, at) => found.findIndex((each) => each.name === name) === at);
  return first.map(({ data }) => data as unknown as Step & { threshold: number });
}
const thresholds = (steps: Parameters<typeof noticesOf>[0]) =>
  noticesOf(steps).map(({ threshold }) => threshold);
const at = (limit: number, ...use: number[]) => use.map((used) => ({ limit, used }));

describe('notices: budgets', () => {
  it('names each threshold as use passes it, and of several at once the highest', () => {
    expect(thresholds(at(1000, 0, 499, 500, 799, 800, 999, 1000, 1200))).to.deep.equal([50, 80, 100]);
    expect(thresholds(at(1000, 400, 1000))).to.deep.equal([100]);
    expect(thresholds(at(1000, 0, 850, 900))).to.deep.equal([80]);
  });

  it('names the thresholds of another limit anew', () => {
    expect(thresholds([...at(1000, 1000), ...at(2000, 1000, 1500, 1600, 2000)])).to.deep.equal([
      100, 50, 80, 100,
    ]);
    expect(thresholds([...at(1000, 600), ...at(500, 600, 700)])).to.deep.equal([50, 100]);
  });

  it('never names one of a limit twice, and under one limit always the highest that is reached', () => {
    const month = fc.array(fc.record({ limit: fc.constantFrom(10, 40, 100), more: fc.nat(12) }));
    fc.assert(
      fc.property(month, (changes) => {
        let used = 0;
        const steps = changes.map(({ limit, more }) => {
          used += more;
          return { limit, used };
        });
        const said = noticesOf(steps);
        const names = said.map(({ limit, threshold }) => `${limit} ${threshold}`);
        expect(new Set(names).size).to.equal(names.length);
        for (const { used, limit, threshold } of said) expect(used * 100).to.be.at.least(threshold * limit);
        const constant = steps.map(({ used }) => ({ used, limit: 40 }));
        const highest = [100, 80, 50].find((threshold) => used * 100 >= threshold * 40);
        expect(thresholds(constant).at(-1)).to.equal(highest);
      }),
    );
  });

  it('says CPU in seconds, and that calls are refused past a limit', () => {
    const cpu = budgetNotice({ ...acme, limit: 5_000_000, used: 4_100_512 }, 'monthly_cpu_ms', '2030-01');
    expect(cpu?.data.text).to.equal(
      'acme has used 82 % of its monthly CPU time: 4,100.5 of 5,000 s in January 2030.',
    );
    const calls = budgetNotice({ ...acme, limit: 1000, used: 1000 }, 'monthly_quota', '2030-01');
    expect(calls?.data.text).to.equal(
      'acme has used up its monthly calls: 1,000 of 1,000 in January 2030. Calls are refused until the month ends.',
    );
  });
});

describe('notices: keys', () => {
  const expires_at = Date.UTC(2030, 0, 31);
  const key = { ...acme, key: 'key_1', label: 'shop', created_at: 0, expires_at };
  const namesAt = (daysBefore: number, changes = {}) =>
    keyNotice({ ...key, ...changes }, expires_at - daysBefore * dayMs)?.name.replace(`${expires_at} `, '');

  it('expire 30, 7 and 1 days ahead', () => {
    const said = [31, 30, 8, 7, 5, 1.01, 1, 0.1, 0, -3].map((days) => namesAt(days));
    const [far, week, last] = [30, 7, 1].map((days) => `key.expiring key_1 ${days}`);
    const expired = `key.expired key_1 ${expires_at}`;
    expect(said).to.deep.equal([undefined, far, far, week, week, week, last, last, expired, expired]);
  });

  it('say nothing of a threshold that a key was issued within', () => {
    const created_at = expires_at - 5 * dayMs;
    expect(namesAt(4, { created_at })).to.equal(undefined);
    expect(namesAt(0.5, { created_at })).to.equal('key.expiring key_1 1');
  });

  it('are named with what is left of them', () => {
    const text = keyNotice(key, expires_at - 1.5 * dayMs)?.data.text;
    expect(text).to.equal('The key shop (key_1) of acme expires in 2 days, on 2030-01-31.');
  });
});

describe('notices: webhooks', () => {
  it('name a host once a day, and nothing else of its url', () => {
    const found = { tenant_id: 'ten_1', name: 'acme', notice_url: null, waiting: 3, attempts: 6, since: 0 };
    const { name, data } = webhookNotice({ ...found, url: 'https://hooks.example/s3cret' }, dayMs);
    expect(name).to.equal('webhook.failing ten_1 hooks.example 1970-01-02');
    expect(JSON.stringify(data)).not.to.include('s3cret');
  });
});
