import { after } from '../../after.js';
import type { KeyVerifier } from '../../keys/verifier.js';
import { callerOf } from '../../pipeline/caller-of.js';
import type { Stage } from '../../pipeline/stage.js';
import type { Caller } from '../../pipeline/state.js';
import type { ItemCall } from './item-call.js';

/** Looks again at the key that made the job: it may have ended since, and what it may call may have changed. */
export function requireKey(keys: Pick<KeyVerifier, 'verifyById'>): Stage<ItemCall, { caller: Caller }> {
  return function requireKey({ state, item }, next) {
    return after(keys.verifyById(item.of.key_id), (verdict) => {
      const caller = callerOf(verdict);
      state.caller = caller;
      return next({ caller });
    });
  };
}
