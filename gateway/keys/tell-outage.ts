import type { Logger } from 'pino';
import type { KeyVerifierOptions } from './verifier.js';

/** Tells of a database of keys that stops answering, and of one that is back. */
export function tellKeyOutage(logger: Logger): Required<Pick<KeyVerifierOptions, 'onDown' | 'onUp'>> {
  return {
    onDown: (error) =>
      logger.error({ err: error }, 'key database does not answer; keys seen lately go on working'),
    onUp: () => logger.info('key database answers again'),
  };
}
