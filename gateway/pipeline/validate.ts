import { boundProblems } from '../../schemas/problems.js';
import { GatewayError } from '../errors.js';
import type { QueryText } from './query.js';
import type { Stage } from './state.js';

/**
 * Makes one input object of query and body, the body winning, and judges it by the helper's schema. Text is read as the
 * type that the schema wants; JSON stays as it is. Every problem is told at once.
 */
export function validate(): Stage {
  return async function validate(ctx, next) {
    const { helper, query, body } = ctx.state;
    if (!helper) throw new GatewayError('not_found');
    const { parameters } = helper;
    const raw = new Map<string, unknown>();
    const take = (text: QueryText | undefined) => {
      for (const [name, value] of text?.values ?? []) raw.set(name, parameters.coerce(name, value));
    };
    take(query);
    take(body?.text);
    for (const [name, value] of Object.entries(body?.json ?? {})) raw.set(name, value);

    ctx.state.dryrun = raw.get('dryrun') === true;
    const { input, problems } = parameters.check(Object.fromEntries(raw), {
      // A helper that runs all the same needs what it always needs.
      dryrun: ctx.state.dryrun && helper.declaration.dryrun !== 'run',
      hasFile: body?.file !== undefined,
    });
    const unread = [...(query?.problems ?? []), ...(body?.text?.problems ?? [])];
    const named = new Set(unread.map(({ field }) => field));
    // What was sent and could not be read is not missing too.
    const all = [...unread, ...problems.filter(({ field }) => raw.has(field) || !named.has(field))];
    if (all.length > 0) throw new GatewayError('invalid_input', { details: boundProblems(all) });
    ctx.state.input = input;
    await next();
  };
}
