import { boundProblems } from '../../../schemas/field-problem.js';
import { type Read, readJsonObject } from '../../../schemas/input/json-object.js';
import { parseUrlencoded } from '../../../schemas/input/urlencoded.js';
import { inputError } from '../../errors.js';
import { envelopeType, plainMeta, success } from '../../http/envelope.js';
import type { Site } from '../site.js';
import { readText } from '../stages/read-body.js';
import type { SiteContext, SiteStage } from '../state.js';
import type { ApiRoute } from './routes.js';

/** Runs an operation: reads and judges what was sent, all of it at once, and answers with the envelope. */
export function handle(route: ApiRoute, site: Site): SiteStage {
  const { nothing } = site.admin.inputs;
  const { query: parameters = nothing, body: fields = nothing } = route;
  return async function handle(ctx) {
    const texts = parseUrlencoded(ctx.querystring);
    const query = parameters.check(parameters.coerce(texts.values));
    const sent = await readJson(ctx);
    const body = 'value' in sent ? fields.check(sent.value) : { value: {}, problems: sent.problems };
    const problems = [...texts.problems, ...query.problems, ...body.problems];
    if (problems.length > 0) throw inputError(boundProblems(problems));
    sendSuccess(ctx, await route.run({ site, params: ctx.params, query: query.value, body: body.value }));
  };
}

/** Answers with the envelope. */
function sendSuccess(ctx: SiteContext, data: object): void {
  ctx.type = envelopeType;
  ctx.body = JSON.stringify(success(data, plainMeta(ctx.state.requestId)));
}

async function readJson(ctx: SiteContext): Promise<Read<Record<string, unknown>>> {
  if (ctx.method === 'GET' || ctx.method === 'HEAD') return { value: {} };
  const text = await readText(ctx, 'application/json');
  return text.trim() === '' ? { value: {} } : readJsonObject(text);
}
