import { Piscina } from 'piscina';
import { GatewayError } from '../../errors.js';
import type { Judged } from './password-worker.js';

/** Says how a new password would stand up to somebody who guesses well. */
export interface PasswordJudge {
  /**
   * Whether it takes too few guesses, by somebody who knows `about` too: e-mail, name. Rejects with `busy` where too many
   * passwords wait to be judged.
   */
  isGuessable(password: string, about: readonly string[]): Promise<boolean>;
}

/** What a guesser of 50 in ten minutes, as the throttle allows, is busy with for 380 years. */
const leastGuesses = 1e9;
/** The estimator's time grows with the square of the length, and what is strong is strong by then. */
const longestJudged = 40;
const mostWords = 20;
const mostWaiting = 16;
const idleMs = 60_000;

/**
 * The estimator takes a quarter of a second and 60 MB to load and up to a tenth of a second for a password, so it lives in a
 * thread of its own, from when a password is set until a minute after the last.
 */
export function createPasswordJudge(): PasswordJudge {
  const threads = new Piscina<Judged, number>({
    filename: new URL('./password-worker.js', import.meta.url).href,
    minThreads: 0,
    maxThreads: 1,
    maxQueue: mostWaiting,
    idleTimeout: idleMs,
    recordTiming: false,
    resourceLimits: { maxOldGenerationSizeMb: 256 },
  });

  return {
    async isGuessable(password, about) {
      if (threads.queueSize >= mostWaiting) throw new GatewayError('busy');
      const words = about.flatMap((text) => [text, ...text.split(/[^\p{L}\p{N}]+/u)]);
      const known = words.filter((word) => word.length > 2).map((word) => word.slice(0, longestJudged));
      const judged = { password: password.slice(0, longestJudged), known: known.slice(0, mostWords) };
      return (await threads.run(judged)) < leastGuesses;
    },
  };
}
