import type { Pool } from '../../../pool/pool.js';
import type { Turn } from '../../../pool/turn.js';
import { onSettled } from '../../after.js';
import type { Helper } from '../../helpers/registry.js';
import type { Stage } from '../../pipeline/stage.js';
import type { Caller } from '../../pipeline/state.js';
import type { ItemCall } from './item-call.js';

/** Gives an item its turn in the pool, behind all direct calls. It takes no place: the runner takes no more items than could soon run. */
export function turnBehind(
  helper: Pick<Helper, 'group'>,
  pool: Pick<Pool, 'turn'>,
): Stage<ItemCall & { caller: Caller }, { turn: Turn }> {
  return function turnBehind({ state: { gone }, watch, caller: { tenant } }, next) {
    const asker = { tenant: tenant.id, weight: tenant.weight, most: null, behind: true };
    const turn = watch.over(pool.turn(asker, helper.group));
    gone.listen(turn.leave);
    return onSettled(() => next({ turn }), { done: turn.leave, failed: turn.leave });
  };
}
