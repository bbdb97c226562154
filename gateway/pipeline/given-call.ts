import type { QueryText } from '../../schemas/input/urlencoded.js';
import type { EffectiveLimits } from '../limits/tenant-limits.js';
import type { BodyInput } from './read-input.js';
import type { Call } from './stage.js';
import type { Caller } from './state.js';

/** A call of which everything is there that HTTP would have to bring: whose it is, and what it holds, of which nothing is judged yet. */
export interface GivenCall extends Call, BodyInput {
  readonly caller: Caller;
  readonly query: QueryText;
  readonly limits: EffectiveLimits;
}
