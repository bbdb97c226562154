import { ZxcvbnFactory } from '@zxcvbn-ts/core';
import { adjacencyGraphs, dictionary as common } from '@zxcvbn-ts/language-common';
import { dictionary as english } from '@zxcvbn-ts/language-en';

/** A password, and words that a guesser would try first. */
export type EstimatorInput = { password: string; known: readonly string[] };

const estimator = new ZxcvbnFactory({
  dictionary: { ...common, ...english },
  graphs: adjacencyGraphs,
  // 100 by default, with which a password made for it takes seconds.
  l33tMaxSubstitutions: 2,
});

/** The guesses that a password takes, as zxcvbn estimates them. Called by Piscina. */
export default function estimateGuesses({ password, known }: EstimatorInput): number {
  return estimator.check(password, [...known]).guesses;
}
