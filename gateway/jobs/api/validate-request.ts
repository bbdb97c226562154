import { createHash } from 'node:crypto';
import type { FileField } from '../../../schemas/declared-helper.js';
import { type FieldProblem, fieldName } from '../../../schemas/field-problem.js';
import { didYouMean } from '../../../schemas/nearest.js';
import { describeValue } from '../../../schemas/quote.js';
import { GatewayError } from '../../errors.js';
import { scopeAllows } from '../../keys/model.js';
import type { Caller } from '../../pipeline/stage.js';
import type { TenantHelpers } from '../../recipes/tenant-helpers.js';
import type { Webhooks } from '../../webhooks/sender.js';
import type { JobRequest } from '../jobs.js';
import { type ItemFile, type ItemInput, mostItems } from '../model.js';
import { type RequestedFile, type RequestedJob, rejectProblems } from './fields.js';
import type { YieldToEventLoop } from './read-json.js';

export interface JobRules {
  helpers: Pick<TenantHelpers, 'find' | 'registry'>;
  webhooks: Pick<Webhooks, 'check'>;
}

const noItems: JobItems = { inputs: [], files: [], sharedFiles: new Map() };

/** Throws `scope_denied`, `invalid_input` with each problem, or what the webhook's url is refused with. */
export async function validateRequest(
  requested: RequestedJob,
  { scopes, tenant }: Pick<Caller, 'scopes' | 'tenant'>,
  { helpers, webhooks }: JobRules,
): Promise<Omit<JobRequest, 'tenantId' | 'keyId' | 'idempotency'>> {
  const problems = [...requested.problems];
  const report = (problem: FieldProblem) => void problems.push(problem);
  const helper =
    requested.service === undefined ? undefined : await helpers.find(tenant.id, requested.service);
  if (helper && !scopeAllows(scopes, helper.id)) throw new GatewayError('scope_denied');
  if (requested.service !== undefined && !helper) {
    const hint = didYouMean(requested.service, [...helpers.registry.keys()]);
    const problem = `must be the id of a helper, but is ${describeValue(requested.service)}${hint}`;
    report({ field: 'service', problem });
  }

  let items = noItems;
  if (requested.inputs) items = { ...noItems, inputs: requested.inputs.map(jsonInput) };
  else if (helper) {
    const known = helper.declaration.files;
    items = itemsOfForm(requested.fields ?? [], requested.files ?? [], { known, report });
  }
  const webhook = validateWebhook(requested.webhookUrl, webhooks, report);
  rejectProblems(problems);
  if (webhook.refusal) throw webhook.refusal;
  const textBytes = requested.inputs?.reduce((sum, { byteLength }) => sum + byteLength, 0) ?? 0;
  return { service: requested.service ?? '', webhookUrl: webhook.url, ...items, textBytes };
}

/** Its text is made each time it is read: the texts of 60 MB would be 120 MB of strings beside the body that they are in. */
function jsonInput(bytes: Buffer): ItemInput {
  return {
    get json() {
      return bytes.toString();
    },
    files: [],
  };
}

const webhookField = 'webhook.url';

/** A url that is none is a problem of the input; one that may not be requested is refused as any other such url is. */
function validateWebhook(
  url: string | undefined,
  webhooks: JobRules['webhooks'],
  report: (problem: FieldProblem) => void,
): { url: string | undefined; refusal?: GatewayError } {
  if (url === undefined) return { url };
  try {
    return { url: webhooks.check(url, webhookField).href };
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    if (error.code === 'invalid_input') for (const problem of error.details ?? []) report(problem);
    const { code, message, cause } = error;
    if (code === 'invalid_input') return { url };
    // Whatever else it is, such as a gateway that can sign nothing, is not wrong with the url.
    const about =
      code === 'source_refused' ? { details: [{ field: webhookField, problem: 'may not be fetched' }] } : {};
    return {
      url,
      refusal: new GatewayError(code, { message: `${webhookField}: ${message}`, ...about, cause }),
    };
  }
}

type JobItems = Pick<JobRequest, 'inputs' | 'files' | 'sharedFiles'>;

/** The name under which every item's file may come, whatever the helper calls it. */
const anyFile = 'file';

/** Each file of the helper's main field is an item; other files and all text fields are every item's. */
function itemsOfForm(
  fields: readonly (readonly [string, string])[],
  files: readonly RequestedFile[],
  { known, report }: { known: readonly FileField[]; report: (problem: FieldProblem) => void },
): JobItems {
  const main = mainField(known);
  const own: RequestedFile[] = [];
  const shared = new Map<string, RequestedFile>();
  const lost = new Set<string>();
  for (const file of files) {
    if (main && (file.field === anyFile || file.field === main.field)) own.push(file);
    else if (!main || !known.some(({ field }) => field === file.field)) lost.add(file.field);
    else if (shared.has(file.field)) lost.add(file.field);
    else shared.set(file.field, file);
  }
  for (const field of lost) report({ field: fieldName(field), problem: lostProblem(field, known, main) });
  for (const [name] of fields)
    if (main && name === anyFile) report({ field: anyFile, problem: 'must be a file' });
  if (own.length > mostItems) report({ field: anyFile, problem: `must be given at most ${mostItems} times` });
  if (own.length === 0 && !lost.has(anyFile) && (main || lost.size === 0)) {
    const none = 'is required: this helper makes no items of a form, so send JSON';
    const some = `is required: 1 to ${mostItems} files, of which each is an item`;
    report(main ? { field: main.field, problem: some } : { field: 'inputs', problem: none });
  }
  const sharedFiles = [...shared.values()].map((file): ItemFile => ({ ...describeFile(file), shared: true }));
  return {
    inputs: own.map((file) => ({
      fields,
      files: [{ ...describeFile(file), field: main?.field ?? anyFile }, ...sharedFiles],
    })),
    files: own.map(({ bytes }) => new Map([[main?.field ?? anyFile, bytes]])),
    sharedFiles: new Map([...shared].map(([field, { bytes }]) => [field, bytes])),
  };
}

/** The one file of which each item has its own: the one that is required, or the only one. */
function mainField(known: readonly FileField[]): FileField | undefined {
  const required = known.filter(({ required }) => required);
  const [only, ...others] = required.length > 0 ? required : known;
  return others.length === 0 ? only : undefined;
}

function lostProblem(field: string, known: readonly FileField[], main: FileField | undefined): string {
  if (known.length === 0)
    return 'is not taken by this helper, which works without a file: send inputs as JSON';
  const names = known.map(({ field }) => field).join(', ');
  if (!main)
    return `cannot make items: this helper takes several files (${names}). Send inputs as JSON with their urls`;
  if (known.some((each) => each.field === field)) return 'is every item’s and must be given once';
  return `must not be a file; the files of this helper are called ${names}`;
}

function describeFile({ field, type, name, bytes }: RequestedFile): ItemFile {
  return { field, type, ...(name === undefined ? {} : { name }), bytes: bytes.byteLength };
}

const idempotencyKeyForm = /^[\x21-\x7e]{1,255}$/;
/** Bytes that are hashed without looking at the time. */
const hashedBytes = 1024 * 1024;

/** The name that a client gives its request, so that it may send it again and have one job. */
export function readIdempotencyKey(
  header: string | undefined,
  report: (problem: FieldProblem) => void,
): string | undefined {
  if (header === undefined || idempotencyKeyForm.test(header)) return header;
  report({ field: 'Idempotency-Key', problem: 'must be 1 to 255 visible ASCII characters, given once' });
  return undefined;
}

type Digested = Pick<JobRequest, 'service' | 'webhookUrl' | 'inputs' | 'files' | 'sharedFiles'>;

/** A digest of all that the job will be made of, however it was sent: with another boundary, or by another key. */
export async function digestOf(request: Digested, yieldToEventLoop: YieldToEventLoop): Promise<string> {
  const hash = createHash('sha256');
  const add = async (bytes: Uint8Array) => {
    // Each with its length before it: else what ends one could begin the next.
    hash.update(`${bytes.byteLength}:`);
    for (let at = 0; at < bytes.byteLength; at += hashedBytes) {
      hash.update(bytes.subarray(at, at + hashedBytes));
      await yieldToEventLoop();
    }
  };
  const addJson = (value: unknown) => add(Buffer.from(JSON.stringify(value)));
  await addJson([request.service, request.webhookUrl ?? null, request.inputs.length]);
  for (const bytes of request.sharedFiles.values()) await add(bytes);
  // Forms share one list of fields, which is added once.
  let fields: unknown;
  for (const [index, input] of request.inputs.entries()) {
    await addJson([input.json ?? null, input.fields === fields ? null : input.fields, input.files]);
    fields = input.fields;
    for (const bytes of request.files[index]?.values() ?? []) await add(bytes);
    await yieldToEventLoop();
  }
  return hash.digest('base64url');
}
