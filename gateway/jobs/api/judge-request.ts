import type { FieldProblem } from '../../../schemas/field-problem.js';
import { didYouMean } from '../../../schemas/nearest.js';
import { describeValue } from '../../../schemas/quote.js';
import { GatewayError } from '../../errors.js';
import type { Helper } from '../../helpers/registry.js';
import { scopeAllows } from '../../keys/scopes.js';
import type { Caller } from '../../pipeline/state.js';
import type { JobRequest } from '../jobs.js';
import type { ItemInput } from '../model.js';
import type { Webhooks } from '../webhooks/open-webhooks.js';
import { type Asked, requireNone } from './asked.js';
import { itemsOfForm, type JobItems } from './items-of-form.js';

export interface JobRules {
  /** The helpers as they are now. */
  registry: Pick<ReadonlyMap<string, Helper>, 'get' | 'keys'>;
  /** Judges urls that are to be told. */
  webhooks: Pick<Webhooks, 'check'>;
}

const noItems: JobItems = { inputs: [], files: [], sharedFiles: new Map() };

/**
 * Makes a request for a job of what a body asks for. Throws `scope_denied` where the key may not call the helper; else
 * `invalid_input` with each problem, or what the webhook's url is refused with.
 */
export function judgeRequest(
  asked: Asked,
  { scopes }: Pick<Caller, 'scopes'>,
  { registry, webhooks }: JobRules,
): Omit<JobRequest, 'tenantId' | 'keyId' | 'idempotency'> {
  const problems = [...asked.problems];
  const tell = (problem: FieldProblem) => void problems.push(problem);
  const helper = asked.service === undefined ? undefined : registry.get(asked.service);
  if (helper && !scopeAllows(scopes, helper.id)) throw new GatewayError('scope_denied');
  if (asked.service !== undefined && !helper) tell(unknownService(asked.service, [...registry.keys()]));

  let items = noItems;
  if (asked.inputs) items = { ...noItems, inputs: asked.inputs.map(jsonInput) };
  else if (helper) {
    const known = helper.declaration.files;
    items = itemsOfForm(asked.fields ?? [], asked.files ?? [], { known, tell });
  }
  const webhook = judgeWebhook(asked.webhookUrl, webhooks, tell);
  requireNone(problems);
  if (webhook.refusal) throw webhook.refusal;
  const textBytes = asked.inputs?.reduce((sum, { byteLength }) => sum + byteLength, 0) ?? 0;
  return { service: asked.service ?? '', webhookUrl: webhook.url, ...items, textBytes };
}

/** An input whose text is made each time it is read: the texts of 60 MB would be 120 MB of strings beside the body that they are in. */
function jsonInput(bytes: Buffer): ItemInput {
  return {
    get json() {
      return bytes.toString();
    },
    files: [],
  };
}

function unknownService(service: string, known: readonly string[]): FieldProblem {
  const problem = `must be the id of a helper, but is ${describeValue(service)}${didYouMean(service, known)}`;
  return { field: 'service', problem };
}

const field = 'webhook.url';

/** A url that is none is a problem of the input; one that may not be asked is refused as any other such url is. */
function judgeWebhook(
  url: string | undefined,
  webhooks: JobRules['webhooks'],
  tell: (problem: FieldProblem) => void,
): { url: string | undefined; refusal?: GatewayError } {
  if (url === undefined) return { url };
  try {
    return { url: webhooks.check(url, field).href };
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    if (error.code === 'invalid_input') for (const problem of error.details ?? []) tell(problem);
    const { code, message, cause } = error;
    if (code === 'invalid_input') return { url };
    // Whatever else it is, such as a gateway that can sign nothing, is not wrong with the url.
    const about = code === 'source_refused' ? { details: [{ field, problem: 'may not be fetched' }] } : {};
    return { url, refusal: new GatewayError(code, { message: `${field}: ${message}`, ...about, cause }) };
  }
}
