import { readJsonObject } from '../../../schemas/input/json-object.js';
import { parseUrlencoded } from '../../../schemas/input/urlencoded.js';
import { success } from '../../envelope.js';
import { GatewayError } from '../../errors.js';
import { readText } from '../read-body.js';
import type { Site } from '../site.js';
import type { SiteContext, SiteStage } from '../state.js';
import { checkFields } from './field.js';
import type { ApiRoute } from './routes.js';

/** Runs an operation: reads and judges what was sent, and answers with the envelope. */
export function handle(route: ApiRoute, site: Site): SiteStage {
  return async function handle(ctx) {
    const query = readQuery(ctx);
    checkFields(route.query ?? {}, query);
    const body = await readJson(ctx);
    checkFields(route.body ?? {}, body);
    sendSuccess(ctx, await route.run({ site, params: ctx.params, query, body }));
  };
}

/** Answers with the envelope. */
function sendSuccess(ctx: SiteContext, data: object): void {
  ctx.type = 'application/json; charset=utf-8';
  ctx.body = JSON.stringify(success(data, { service: null, dryrun: false, request_id: ctx.state.requestId }));
}

function readQuery(ctx: SiteContext): Record<string, string> {
  const { values, problems } = parseUrlencoded(ctx.querystring);
  if (problems.length > 0) throw new GatewayError('invalid_input', { details: problems });
  return Object.fromEntries(values);
}

async function readJson(ctx: SiteContext): Promise<Record<string, unknown>> {
  if (ctx.method === 'GET' || ctx.method === 'HEAD') return {};
  const text = await readText(ctx, 'application/json');
  if (text.trim() === '') return {};
  const read = readJsonObject(text);
  if ('problems' in read) throw new GatewayError('invalid_input', { details: read.problems });
  return read.value;
}
