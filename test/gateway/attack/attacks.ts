import { expect } from 'chai';
import { type Bounds, lenient, row, runScenario, type Scale, type Scenario } from '../../soak/scenario.js';

/** Makes an attack of the soak in a few seconds, and fails with its line of the table where a bound did not hold. */
export async function holds(scenario: Scenario, scale: Scale, bounds: Partial<Bounds> = {}): Promise<void> {
  const seed = Date.now() % 1_000_000;
  const report = await runScenario(scenario, { scale, seed, bounds: { ...lenient, ...bounds } });
  expect(report.problems, row(report)).to.deep.equal([]);
}
