import { createDial, type Dial, type DialOptions } from './dial.js';
import { createJudge, type Judge, type JudgeOptions } from './judge.js';
import { type ExemptOrigins, parseExemptOrigins } from './origins.js';
import { createResolve, resolveExempt } from './resolve.js';

export interface GuardOptions extends DialOptions, Partial<JudgeOptions> {
  /** Exempt origins, `scheme://host[:port]` each. */
  origins?: readonly string[];
}

/** What stands between a stranger's url and the network: which origins are exempt, where a host may be reached, and the way there. */
export interface Guard {
  origins: ExemptOrigins;
  judge: Judge;
  dial: Dial;
}

export function createGuard({ origins = [], ...options }: GuardOptions): Guard {
  return {
    origins: parseExemptOrigins(origins),
    judge: createJudge({
      resolve: options.resolve ?? createResolve(),
      resolveExempt: options.resolveExempt ?? resolveExempt,
    }),
    dial: createDial(options),
  };
}
