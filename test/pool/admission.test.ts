import { mock } from 'node:test';
import { expect } from 'chai';
import fc from 'fast-check';
import {
  Admission,
  type Refusal,
  type Release,
  type Requester,
  type Reservation,
} from '../../pool/admission.js';

interface Lane {
  weight: number;
  tasks: number;
  held: number;
  expected: number;
}

interface Holding {
  requester: Requester;
  decide: (verdict: 'now' | Refusal) => void;
}

const soonMs = 500;

/** What `Admission` does, in the plainest way: every call looks at all lanes, every change at all that are held back. */
class PlainAdmission {
  readonly #capacity: number;
  readonly #lanes = new Map<string, Lane>();
  readonly #holding = new Set<Holding>();
  #held = 0;
  #expected = 0;

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  get size(): number {
    return this.#held;
  }

  acquire(requester: Requester, places = 1): Release | Refusal {
    const verdict = this.#verdict(requester);
    return verdict === 'now' || verdict === 'later' ? this.hold(requester, places) : verdict;
  }

  reserve(requester: Requester): Promise<Reservation | Refusal> {
    const verdict = this.#verdict(requester);
    if (verdict !== 'later') return Promise.resolve(verdict === 'now' ? this.#expect(requester) : verdict);
    return new Promise((resolve) => {
      const decide = (now: 'now' | Refusal) => {
        clearTimeout(timer);
        this.#holding.delete(holding);
        resolve(now === 'now' ? this.#expect(requester) : now);
      };
      const holding: Holding = { requester, decide };
      const timer = setTimeout(() => {
        const late = this.#verdict(requester);
        // What it was held back for has not come: that is slow, and no reason to wait.
        decide(late === 'later' ? 'now' : late);
      }, soonMs);
      this.#holding.add(holding);
    });
  }

  #verdict({ tenant, weight, most }: Requester): 'now' | 'later' | Refusal {
    const { tasks, held, expected } = this.#lanes.get(tenant) ?? { tasks: 0, held: 0, expected: 0 };
    if (most !== null && tasks >= most) return 'tenant_busy';
    const full = this.#held + this.#expected >= this.#capacity;
    const share = full ? this.#shareOf(tenant, weight) : this.#capacity;
    if (this.#held >= this.#capacity && held >= share) {
      return this.#lanes.size > 1 && held > share ? 'tenant_busy' : 'busy';
    }
    if (most !== null && tasks + expected >= most) return 'later';
    return full && held + expected >= share ? 'later' : 'now';
  }

  #shareOf(tenant: string, weight: number): number {
    let weights = this.#lanes.has(tenant) ? 0 : weight;
    for (const lane of this.#lanes.values()) weights += lane.weight;
    return (this.#capacity * weight) / weights;
  }

  hold({ tenant, weight }: Requester, places = 1): Release {
    const lane = this.#lane(tenant, weight);
    lane.tasks += 1;
    lane.held += places;
    this.#held += places;
    return () => {
      lane.tasks -= 1;
      lane.held -= places;
      this.#held -= places;
      this.#changed(tenant);
    };
  }

  #expect(requester: Requester): Reservation {
    const lane = this.#lane(requester.tenant, requester.weight);
    lane.expected += 1;
    this.#expected += 1;
    let counts = true;
    const forget = () => {
      if (!counts) return;
      counts = false;
      clearTimeout(timer);
      lane.expected -= 1;
      this.#expected -= 1;
    };
    const cancel = () => {
      if (!counts) return;
      forget();
      this.#changed(requester.tenant);
    };
    const timer = setTimeout(cancel, soonMs);
    return {
      arrive: (places) => {
        forget();
        return this.hold(requester, places);
      },
      cancel,
    };
  }

  #lane(tenant: string, weight: number): Lane {
    let lane = this.#lanes.get(tenant);
    if (!lane) {
      lane = { weight, tasks: 0, held: 0, expected: 0 };
      this.#lanes.set(tenant, lane);
    }
    lane.weight = weight;
    return lane;
  }

  #changed(tenant: string): void {
    // One that waits for a place counts as one that has some, until it is let in.
    if (![...this.#holding].some(({ requester }) => requester.tenant === tenant)) this.#forgetIfEmpty(tenant);
    const waiting = new Set<string>();
    for (const { requester, decide } of this.#holding) {
      // Tenants are alike to themselves: where one call has to wait, the later ones do too.
      if (waiting.has(requester.tenant)) continue;
      const verdict = this.#verdict(requester);
      if (verdict === 'later') waiting.add(requester.tenant);
      else decide(verdict);
    }
    this.#forgetIfEmpty(tenant);
  }

  #forgetIfEmpty(tenant: string): void {
    const lane = this.#lanes.get(tenant);
    if (lane && lane.held + lane.expected === 0) this.#lanes.delete(tenant);
  }
}

function of(tenant: string, options: Partial<Requester> = {}): Requester {
  return { tenant, weight: 1, most: null, ...options };
}

function fill(admission: Admission, requester: Requester, places: number): Release[] {
  return Array.from({ length: places }, () => {
    const taken = admission.acquire(requester);
    if (typeof taken === 'string') throw new Error(taken);
    return taken;
  });
}

describe('Admission of complete work', () => {
  it('gives places until there are none, then says busy to a tenant that is alone', () => {
    const admission = new Admission(2);
    fill(admission, of('a'), 2);
    expect(admission.acquire(of('a'))).to.equal('busy');
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
    expect(admission.acquire(of('quiet'))).to.equal('busy');
    expect(admission.size).to.equal(6);
  });

  it('tells a tenant with more than its share that it is its own load', () => {
    const admission = new Admission(4);
    fill(admission, of('noisy'), 4);
    fill(admission, of('quiet'), 1);
    expect(admission.acquire(of('noisy'))).to.equal('tenant_busy');
  });

  it('counts a heavier tenant’s share by its weight', () => {
    const admission = new Admission(10);
    fill(admission, of('light'), 10);
    fill(admission, of('heavy', { weight: 4 }), 8);
    expect(admission.acquire(of('heavy', { weight: 4 }))).to.equal('busy');
  });

  it('holds a tenant to its own limit', () => {
    const admission = new Admission(10);
    fill(admission, of('a', { most: 2 }), 2);
    expect(admission.acquire(of('a', { most: 2 }))).to.equal('tenant_busy');
    fill(admission, of('b', { most: 2 }), 2);
  });
});

describe('Admission of what is on its way', () => {
  beforeEach(() => mock.timers.enable({ apis: ['setTimeout'] }));
  afterEach(() => mock.timers.reset());

  async function expected(admission: Admission, requester: Requester): Promise<Reservation> {
    const answer = await admission.reserve(requester);
    if (typeof answer === 'string') throw new Error(answer);
    return answer;
  }

  it('refuses at once what could not be worked on', async () => {
    const admission = new Admission(1);
    fill(admission, of('a'), 1);
    expect(await admission.reserve(of('a'))).to.equal('busy');
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
    const second = admission.reserve(of('a'));
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
    const requester = of('a', { most: 1 });
    const first = await expected(admission, requester);
    const second = admission.reserve(requester);
    first.arrive();
    mock.timers.tick(500);
    expect(await second).to.equal('tenant_busy');
  });
});

const requesters: Requester[] = [
  { tenant: 'a', weight: 1, most: null },
  { tenant: 'b', weight: 1, most: 2 },
  { tenant: 'c', weight: 3, most: null },
  { tenant: 'd', weight: 2, most: 1 },
  { tenant: 'e', weight: 1, most: 0 },
];

const requester = fc.constantFrom(...requesters);
const places = fc.integer({ min: 1, max: 3 });
const step = fc.oneof(
  { weight: 2, arbitrary: fc.record({ take: requester, places }) },
  { weight: 1, arbitrary: fc.record({ hold: requester, places }) },
  { weight: 4, arbitrary: fc.record({ release: fc.nat() }) },
  { weight: 6, arbitrary: fc.record({ expect: requester }) },
  { weight: 2, arbitrary: fc.record({ arrive: fc.nat(), places }) },
  { weight: 3, arbitrary: fc.record({ cancel: fc.nat() }) },
  { weight: 1, arbitrary: fc.record({ pass: fc.constantFrom(100, 400, 500) }) },
);
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;

/** Goes the steps and gives all that was answered, in the order in which it was told, and the places taken after each. */
async function go(admission: Pick<Admission, 'acquire' | 'hold' | 'reserve' | 'size'>, steps: Step[]) {
  const told: string[] = [];
  const held: Release[] = [];
  const expected: Reservation[] = [];
  for (const [at, one] of steps.entries()) {
    if ('take' in one) {
      const taken = admission.acquire(one.take, one.places);
      told.push(`${at} ${typeof taken === 'string' ? taken : 'taken'}`);
      if (typeof taken !== 'string') held.push(taken);
    } else if ('hold' in one) held.push(admission.hold(one.hold, one.places));
    else if ('release' in one) held.splice(one.release % (held.length || 1), 1)[0]?.();
    else if ('expect' in one) {
      void admission.reserve(one.expect).then((answer) => {
        told.push(`${at} ${typeof answer === 'string' ? answer : 'expected'}`);
        if (typeof answer !== 'string') expected.push(answer);
      });
    } else if ('arrive' in one) {
      const [arrived] = expected.splice(one.arrive % (expected.length || 1), 1);
      if (arrived) held.push(arrived.arrive(one.places));
    } else if ('cancel' in one) expected.splice(one.cancel % (expected.length || 1), 1)[0]?.cancel();
    else mock.timers.tick(one.pass);
    await new Promise((resolve) => setImmediate(resolve));
    told.push(`${at} size ${admission.size}`);
  }
  return told;
}

describe('admission beside a plain one', () => {
  beforeEach(() => mock.timers.enable({ apis: ['setTimeout'] }));
  afterEach(() => mock.timers.reset());

  it('lets in and refuses the same calls in the same order', () =>
    fc.assert(
      fc.asyncProperty(
        fc.nat({ max: 5 }),
        fc.array(step, { maxLength: 150, size: 'max' }),
        async (places, steps) => {
          const plain = await go(new PlainAdmission(places + 1), steps);
          mock.timers.reset();
          mock.timers.enable({ apis: ['setTimeout'] });
          expect(await go(new Admission(places + 1), steps)).to.deep.equal(plain);
          mock.timers.reset();
          mock.timers.enable({ apis: ['setTimeout'] });
        },
      ),
      { numRuns: 300 },
    ));
});

describe('admission of ten thousand tenants that wait', () => {
  it('looks at few of them where one’s turn comes', async () => {
    const admission = new Admission(1);
    let looks = 0;
    const all = Array.from({ length: 10_000 }, (_, id) => ({
      tenant: `t${id}`,
      get weight() {
        looks += 1;
        return 1;
      },
      most: null,
    }));
    const expected = await Promise.all(all.map((one) => admission.reserve(one)));
    const heldBack = all.map((one) => admission.reserve(one));
    looks = 0;
    for (const one of expected.slice(0, 5)) if (typeof one !== 'string') one.cancel();
    await Promise.all(heldBack.slice(0, 5));
    expect(looks / 5).to.be.at.most(100);
    for (const one of expected) if (typeof one !== 'string') one.cancel();
    for (const one of await Promise.all(heldBack)) if (typeof one !== 'string') one.cancel();
  });
});
