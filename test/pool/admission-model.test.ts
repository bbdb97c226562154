import { mock } from 'node:test';
import { expect } from 'chai';
import fc from 'fast-check';
import { Admission, type Expected, type Release } from '../../pool/admission.js';
import type { Asker } from '../../pool/asker.js';
import { PlainAdmission } from './plain-admission.js';

const askers: Asker[] = [
  { tenant: 'a', weight: 1, most: null },
  { tenant: 'b', weight: 1, most: 2 },
  { tenant: 'c', weight: 3, most: null },
  { tenant: 'd', weight: 2, most: 1 },
  { tenant: 'e', weight: 1, most: 0 },
];

const asker = fc.constantFrom(...askers);
const places = fc.integer({ min: 1, max: 3 });
const step = fc.oneof(
  { weight: 2, arbitrary: fc.record({ take: asker, places }) },
  { weight: 1, arbitrary: fc.record({ hold: asker, places }) },
  { weight: 4, arbitrary: fc.record({ release: fc.nat() }) },
  { weight: 6, arbitrary: fc.record({ expect: asker }) },
  { weight: 2, arbitrary: fc.record({ arrive: fc.nat(), places }) },
  { weight: 3, arbitrary: fc.record({ cancel: fc.nat() }) },
  { weight: 1, arbitrary: fc.record({ pass: fc.constantFrom(100, 400, 500) }) },
);
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;

/** Goes the steps and gives all that was answered, in the order in which it was told, and the places taken after each. */
async function go(admission: Pick<Admission, 'take' | 'hold' | 'expect' | 'size'>, steps: Step[]) {
  const told: string[] = [];
  const held: Release[] = [];
  const expected: Expected[] = [];
  for (const [at, one] of steps.entries()) {
    if ('take' in one) {
      const taken = admission.take(one.take, one.places);
      told.push(`${at} ${typeof taken === 'string' ? taken : 'taken'}`);
      if (typeof taken !== 'string') held.push(taken);
    } else if ('hold' in one) held.push(admission.hold(one.hold, one.places));
    else if ('release' in one) held.splice(one.release % (held.length || 1), 1)[0]?.();
    else if ('expect' in one) {
      void admission.expect(one.expect).then((answer) => {
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
    const expected = await Promise.all(all.map((one) => admission.expect(one)));
    const heldBack = all.map((one) => admission.expect(one));
    looks = 0;
    for (const one of expected.slice(0, 5)) if (typeof one !== 'string') one.cancel();
    await Promise.all(heldBack.slice(0, 5));
    expect(looks / 5).to.be.at.most(100);
    for (const one of expected) if (typeof one !== 'string') one.cancel();
    for (const one of await Promise.all(heldBack)) if (typeof one !== 'string') one.cancel();
  });
});
