import type { Pool } from '../../pool/pool.js';
import type { Turn } from '../../pool/turn.js';
import { lightBytes } from '../../schemas/input/weigh.js';
import { after, onSettled } from '../after.js';
import type { Helper } from '../helpers/registry.js';
import type { EffectiveLimits } from '../limits/tenant-limits.js';
import type { Call, Stage } from './stage.js';
import type { Caller } from './state.js';

/**
 * Gives the call its turn in the pool, and asks at once whether it would be accepted where it brings a body that is not known
 * to be small: a call that cannot be worked on must cost no upload. Without a body it asks before its download, or when its
 * work is to begin. Of what a tenant may have in flight each of several processes of the host allows its share.
 */
export function admit(
  helper: Pick<Helper, 'group'>,
  pool: Pick<Pool, 'turn'>,
  processes = 1,
): Stage<Call & { caller: Caller; limits: EffectiveLimits }, { turn: Turn }> {
  return function admit({ state: { gone }, bodyBytes, caller: { tenant }, limits }, next) {
    const asker = { tenant: tenant.id, weight: tenant.weight, most: shareOf(limits.inFlight, processes) };
    const turn = pool.turn(asker, helper.group);
    // A client that has gone must not keep its place in the line.
    gone.listen(turn.leave);
    return onSettled(() => after(bodyBytes > lightBytes ? turn.expect() : undefined, () => next({ turn })), {
      done: turn.leave,
      failed: turn.leave,
    });
  };
}

/** Rounded up, for each has to allow one. */
function shareOf(most: number | null, processes: number): number | null {
  return most === null ? null : Math.ceil(most / processes);
}
