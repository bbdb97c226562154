import { GatewayError } from '../errors.js';
import { judge } from './judge.js';
import type { Stage } from './state.js';

/** Makes one input object of query and body and judges it by the helper's schema; every problem is told at once. */
export function validate(): Stage {
  return async function validate(ctx, next) {
    const { helper, query, body } = ctx.state;
    if (!helper || !query) throw new GatewayError('not_found');
    const raw = { query, body: body?.text, hasFile: body?.file !== undefined };
    const { input, dryrun, problems } = await judge(helper, raw, ctx.state);
    ctx.state.dryrun = dryrun;
    if (problems.length > 0) throw new GatewayError('invalid_input', { details: problems });
    ctx.state.input = input;
    // Waiting for its turn, a call holds what it was sent once: as input, no longer as bytes too.
    ctx.state.body = body?.file ? { file: body.file } : undefined;
    await next();
  };
}
