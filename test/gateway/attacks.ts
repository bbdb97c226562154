import { expect } from 'chai';
import { bodyFuzz } from '../soak/attacks/body-fuzz.js';
import { headFuzz } from '../soak/attacks/head-fuzz.js';
import { messageFuzz } from '../soak/attacks/message-fuzz.js';
import { inTurn, lenient, row, runScenario, type Scale, type Scenario } from '../soak/scenario.js';

/** Makes an attack of the soak in a few seconds, and fails with its line of the table where a bound did not hold. */
export async function holds(scenario: Scenario, scale: Scale, goodP99Ms?: number): Promise<void> {
  const seed = Date.now() % 1_000_000;
  const bounds = { ...lenient, ...(goodP99Ms && { goodP99Ms }) };
  const report = await runScenario(scenario, { scale, seed, bounds });
  expect(report.problems, row(report)).to.deep.equal([]);
}

export const fuzz = inTurn('fuzz', [...bodyFuzz, ...messageFuzz, ...headFuzz]);
