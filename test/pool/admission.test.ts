import { mock } from 'node:test';
import { expect } from 'chai';
import { Admission, type Expected, type Release } from '../../pool/admission.js';
import type { Asker } from '../../pool/asker.js';

function of(tenant: string, options: Partial<Asker> = {}): Asker {
  return { tenant, weight: 1, most: null, ...options };
}

function fill(admission: Admission, asker: Asker, places: number): Release[] {
  return Array.from({ length: places }, () => {
    const taken = admission.take(asker);
    if (typeof taken === 'string') throw new Error(taken);
    return taken;
  });
}

describe('Admission of complete work', () => {
  it('gives places until there are none, then says busy to a tenant that is alone', () => {
    const admission = new Admission(2);
    fill(admission, of('a'), 2);
    expect(admission.take(of('a'))).to.equal('busy');
  });

  it('gives a place that was given back to the next', () => {
    const admission = new Admission(1);
    const [release] = fill(admission, of('a'), 1);
    release?.();
    fill(admission, of('a'), 1);
    expect(admission.size).to.equal(1);
  });

  it('gives a tenant its share of all places although another has taken them', () => {
    const admission = new Admission(4);
    fill(admission, of('noisy'), 4);
    fill(admission, of('quiet'), 2);
    expect(admission.take(of('quiet'))).to.equal('busy');
    expect(admission.size).to.equal(6);
  });

  it('tells a tenant with more than its share that it is its own load', () => {
    const admission = new Admission(4);
    fill(admission, of('noisy'), 4);
    fill(admission, of('quiet'), 1);
    expect(admission.take(of('noisy'))).to.equal('tenant_busy');
  });

  it('counts a heavier tenant’s share by its weight', () => {
    const admission = new Admission(10);
    fill(admission, of('light'), 10);
    fill(admission, of('heavy', { weight: 4 }), 8);
    expect(admission.take(of('heavy', { weight: 4 }))).to.equal('busy');
  });

  it('holds a tenant to its own limit', () => {
    const admission = new Admission(10);
    fill(admission, of('a', { most: 2 }), 2);
    expect(admission.take(of('a', { most: 2 }))).to.equal('tenant_busy');
    fill(admission, of('b', { most: 2 }), 2);
  });
});

describe('Admission of what is on its way', () => {
  beforeEach(() => mock.timers.enable({ apis: ['setTimeout'] }));
  afterEach(() => mock.timers.reset());

  async function expected(admission: Admission, asker: Asker): Promise<Expected> {
    const answer = await admission.expect(asker);
    if (typeof answer === 'string') throw new Error(answer);
    return answer;
  }

  it('refuses at once what could not be worked on', async () => {
    const admission = new Admission(1);
    fill(admission, of('a'), 1);
    expect(await admission.expect(of('a'))).to.equal('busy');
  });

  it('keeps no place from complete work', async () => {
    const admission = new Admission(1);
    await expected(admission, of('a'));
    fill(admission, of('a'), 1);
  });

  it('accepts whatever has arrived, also where others were faster', async () => {
    const admission = new Admission(1);
    const first = await expected(admission, of('a'));
    fill(admission, of('a'), 1);
    first.arrive();
    expect(admission.size).to.equal(2);
  });

  it('holds newcomers back while what is expected would fill the places, and lets them in when it does not come', async () => {
    const admission = new Admission(1);
    const first = await expected(admission, of('a'));
    let in_ = false;
    const second = expected(admission, of('a')).then(() => {
      in_ = true;
    });
    mock.timers.tick(499);
    await new Promise((resolve) => setImmediate(resolve));
    expect(in_).to.equal(false);
    first.cancel();
    await second;
  });

  it('refuses them when it has come', async () => {
    const admission = new Admission(1);
    const first = await expected(admission, of('a'));
    const second = admission.expect(of('a'));
    first.arrive();
    mock.timers.tick(500);
    expect(await second).to.equal('busy');
  });

  it('waits half a second for what is slow, and no longer', async () => {
    const admission = new Admission(2);
    await expected(admission, of('a'));
    await expected(admission, of('a'));
    let in_ = 0;
    const late = [1, 2].map(async () => {
      await expected(admission, of('a'));
      in_ += 1;
    });
    mock.timers.tick(499);
    await new Promise((resolve) => setImmediate(resolve));
    expect(in_).to.equal(0);
    mock.timers.tick(1);
    await Promise.all(late);
  });

  it('lets a tenant with less than its share in at once', async () => {
    const admission = new Admission(2);
    await expected(admission, of('noisy'));
    await expected(admission, of('noisy'));
    let in_ = false;
    void expected(admission, of('quiet')).then(() => {
      in_ = true;
    });
    await new Promise((resolve) => setImmediate(resolve));
    expect(in_).to.equal(true);
  });

  it('counts a tenant’s own limit in what is expected, too', async () => {
    const admission = new Admission(10);
    const asker = of('a', { most: 1 });
    const first = await expected(admission, asker);
    const second = admission.expect(asker);
    first.arrive();
    mock.timers.tick(500);
    expect(await second).to.equal('tenant_busy');
  });
});
