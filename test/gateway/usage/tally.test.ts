import { expect } from 'chai';
import fc from 'fast-check';
import { dayOf } from '../../../gateway/usage/day.js';
import { createTally, type UsageRecord } from '../../../gateway/usage/tally.js';

const call: UsageRecord = {
  tenant: 't',
  key: 'k',
  service: 'text/a',
  status: 200,
  bytesIn: 10,
  bytesOut: 20,
  cpuMs: 1.5,
  at: Date.UTC(2025, 0, 31, 23, 59, 59, 999),
};

describe('tally', () => {
  it('sums the calls of one day, key and helper', () => {
    const tally = createTally();
    tally.add(call);
    tally.add(call);
    expect(tally.rows()).to.deep.equal([
      {
        tenant: 't',
        day: '2025-01-31',
        key_id: 'k',
        service: 'text/a',
        calls: 2,
        errors_client: 0,
        errors_limited: 0,
        errors_server: 0,
        bytes_in: 20,
        bytes_out: 40,
        cpu_ms: 3,
      },
    ]);
  });

  it('starts a row at midnight UTC', () => {
    const tally = createTally();
    tally.add(call);
    tally.add({ ...call, at: (call.at ?? 0) + 1 });
    expect(tally.rows().map((row) => row.day)).to.deep.equal(['2025-01-31', '2025-02-01']);
  });

  it('tells refusals by a limit from other client errors and from server errors', () => {
    const tally = createTally();
    for (const status of [200, 304, 400, 404, 429, 500, 503]) tally.add({ ...call, status });
    const [row] = tally.rows();
    expect(row).to.include({ calls: 7, errors_client: 2, errors_limited: 1, errors_server: 2 });
  });

  it('never holds an amount that a database would refuse', () => {
    fc.assert(
      fc.property(fc.double(), fc.double(), fc.double(), (bytesIn, bytesOut, cpuMs) => {
        const tally = createTally();
        tally.add({ ...call, bytesIn, bytesOut, cpuMs });
        const [row] = tally.rows();
        expect(row?.bytes_in).to.be.at.least(0);
        expect(Number.isInteger(row?.bytes_out)).to.equal(true);
        expect(Number.isFinite(row?.cpu_ms)).to.equal(true);
      }),
    );
  });

  it('takes no further rows past its limit, but goes on counting on those it has', () => {
    const tally = createTally(1);
    expect(tally.add(call)).to.equal(true);
    expect(tally.add({ ...call, key: 'other' })).to.equal(false);
    expect(tally.add(call)).to.equal(true);
    expect(tally.size).to.equal(1);
  });

  it('names days in UTC', () => {
    expect(dayOf(0)).to.equal('1970-01-01');
  });
});
