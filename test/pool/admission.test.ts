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
import { of } from './worker-settings.js';

interface Lane {
  weight: number;
  tasks: number;
  held: number;
  expected: number;
}

interface Deferred {
  requester: Requester;
  decide: (verdict: 'now' | Refusal) => void;
}

const soonMs = 500;

/** What `Admission` does, in the plainest way: every call looks at all lanes, every change at all that are deferred. */
class PlainAdmission {
  readonly #capacity: number;
  readonly #lanes = new Map<string, Lane>();
  readonly #deferred = new Set<Deferred>();
  #held = 0;
  #expected = 0;

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  get size(): number {
    return this.#held;
  }

  acquire(requester: Requester, slots = 1): Release | Refusal {
    const verdict = this.#verdict(requester);
    return verdict === 'now' || verdict === 'later' ? this.hold(requester, slots) : verdict;
  }

  reserve(requester: Requester): Promise<Reservation | Refusal> {
    const verdict = this.#verdict(requester);
    if (verdict !== 'later') return Promise.resolve(verdict === 'now' ? this.#expect(requester) : verdict);
    return new Promise((resolve) => {
      const decide = (now: 'now' | Refusal) => {
        clearTimeout(timer);
        this.#deferred.delete(deferred);
        resolve(now === 'now' ? this.#expect(requester) : now);
      };
      const deferred: Deferred = { requester, decide };
      const timer = setTimeout(() => {
        const late = this.#verdict(requester);
        // What it was deferred for has not come: that is slow, and no reason to wait.
        decide(late === 'later' ? 'now' : late);
      }, soonMs);
      this.#deferred.add(deferred);
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

  hold({ tenant, weight }: Requester, slots = 1): Release {
    const lane = this.#lane(tenant, weight);
    lane.tasks += 1;
    lane.held += slots;
    this.#held += slots;
    return () => {
      lane.tasks -= 1;
      lane.held -= slots;
      this.#held -= slots;
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
      arrive: (slots) => {
        forget();
        return this.hold(requester, slots);
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
    // One that waits for a slot counts as one that has some, until it is accepted.
    if (![...this.#deferred].some(({ requester }) => requester.tenant === tenant))
      this.#forgetIfEmpty(tenant);
    const waiting = new Set<string>();
    for (const { requester, decide } of this.#deferred) {
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

function fill(admission: Admission, requester: Requester, slots: number): void {
  for (let at = 0; at < slots; at += 1) expect(admission.acquire(requester)).to.be.a('function');
}

async function expected(admission: Admission, requester: Requester): Promise<Reservation> {
  return (await admission.reserve(requester)) as Reservation;
}

const settled = () => new Promise((resolve) => setImmediate(resolve));

const requester = fc.constantFrom(
  of('a'),
  of('b', { most: 2 }),
  of('c', { weight: 3 }),
  of('d', { weight: 2, most: 1 }),
  of('e', { most: 0 }),
);
const slots = fc.integer({ min: 1, max: 3 });
const step = fc.oneof(
  { weight: 2, arbitrary: fc.record({ acquire: requester, slots }) },
  { weight: 1, arbitrary: fc.record({ hold: requester, slots }) },
  { weight: 4, arbitrary: fc.record({ release: fc.nat() }) },
  { weight: 6, arbitrary: fc.record({ expect: requester }) },
  { weight: 2, arbitrary: fc.record({ arrive: fc.nat(), slots }) },
  { weight: 3, arbitrary: fc.record({ cancel: fc.nat() }) },
  { weight: 1, arbitrary: fc.record({ pass: fc.constantFrom(100, 400, 500) }) },
);
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;

/** Goes the steps and gives all answers, in their order, and the slots held after each. */
async function go(admission: Pick<Admission, 'acquire' | 'hold' | 'reserve' | 'size'>, steps: Step[]) {
  const answers: string[] = [];
  const held: Release[] = [];
  const expected: Reservation[] = [];
  for (const [at, one] of steps.entries()) {
    if ('acquire' in one) {
      const answer = admission.acquire(one.acquire, one.slots);
      answers.push(`${at} ${typeof answer === 'string' ? answer : 'acquired'}`);
      if (typeof answer !== 'string') held.push(answer);
    } else if ('hold' in one) held.push(admission.hold(one.hold, one.slots));
    else if ('release' in one) held.splice(one.release % (held.length || 1), 1)[0]?.();
    else if ('expect' in one) {
      void admission.reserve(one.expect).then((answer) => {
        answers.push(`${at} ${typeof answer === 'string' ? answer : 'expected'}`);
        if (typeof answer !== 'string') expected.push(answer);
      });
    } else if ('arrive' in one) {
      const [arrived] = expected.splice(one.arrive % (expected.length || 1), 1);
      if (arrived) held.push(arrived.arrive(one.slots));
    } else if ('cancel' in one) expected.splice(one.cancel % (expected.length || 1), 1)[0]?.cancel();
    else mock.timers.tick(one.pass);
    await settled();
    answers.push(`${at} size ${admission.size}`);
  }
  return answers;
}

describe('Admission, also beside a plain one', () => {
  afterEach(() => mock.timers.reset());

  it('gives a tenant its share by weight although another has all slots, and says whose load it is', () => {
    const admission = new Admission(10);
    const heavy = of('heavy', { weight: 4 });
    fill(admission, of('light'), 10);
    expect(admission.acquire(of('light'))).to.equal('busy');
    fill(admission, heavy, 8);
    expect([admission.acquire(heavy), admission.acquire(of('light'))]).to.deep.equal(['busy', 'tenant_busy']);
    expect(admission.size).to.equal(18);
  });

  it('accepts and refuses the same calls in the same order', () =>
    fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 6 }),
        fc.array(step, { maxLength: 150, size: 'max' }),
        async (capacity, steps) => {
          const answers: string[][] = [];
          for (const each of [new PlainAdmission(capacity), new Admission(capacity)]) {
            mock.timers.enable({ apis: ['setTimeout'] });
            answers.push(await go(each, steps));
            mock.timers.reset();
          }
          expect(answers[1]).to.deep.equal(answers[0]);
        },
      ),
      { numRuns: 300 },
    ));

  it('looks at few of ten thousand tenants that wait where one can be decided', async () => {
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
    const first = await Promise.all(all.map((one) => expected(admission, one)));
    const deferred = all.map((one) => expected(admission, one));
    looks = 0;
    for (const one of first.slice(0, 5)) one.cancel();
    await Promise.all(deferred.slice(0, 5));
    expect(looks / 5).to.be.at.most(100);
    for (const one of first) one.cancel();
    for (const one of await Promise.all(deferred)) one.cancel();
  });
});
