import { boundProblems, type FieldProblem, fieldName } from '../../../schemas/field-problem.js';
import { compileFields, type Fields, type FieldsSchema } from '../../../schemas/fields.js';
import { looksLikeJson, type QueryText, readJsonObject } from '../../../schemas/input/parse.js';
import { didYouMean } from '../../../schemas/nearest.js';
import { describeValue } from '../../../schemas/quote.js';
import { createAdminVocabulary } from '../../../schemas/vocabulary.js';
import { inputError } from '../../errors.js';
import type { UploadedFile } from '../../http/multipart.js';
import type { Call, Stage } from '../../pipeline/stage.js';
import { jobIdPattern, mostItems } from '../model.js';

export interface RequestedFile extends UploadedFile {
  field: string;
}

/** What a body asks for, of which its form alone is valid. */
export interface RequestedJob {
  /** Absent where there is none, or none that can be read, which is among the problems. */
  service?: string;
  webhookUrl?: string;
  /** The items' texts as they were written, parts of the body; of a form, there are `fields` and `files` in their place. */
  inputs?: readonly Buffer[];
  /** Names and values of a form that all items share. */
  fields?: readonly (readonly [string, string])[];
  files?: readonly RequestedFile[];
  problems: FieldProblem[];
}

/** Rejects with what is wrong, all at once. */
export function rejectProblems(problems: readonly FieldProblem[]): void {
  if (problems.length > 0) throw inputError(boundProblems(problems));
}

/** Where a body asks for something twice. */
export const givenTwiceProblem = 'must be given once, but is given more than once';

export const jobFields = ['service', 'inputs', 'webhook'] as const;

/** What `inputs` must be, for messages. */
export const inputsForm = `a list of 1 to ${mostItems} objects`;

/** Bytes of a service or a webhook, as it is written: more is none of them. */
export const mostFieldBytes = 64 * 1024;

/** Reads what names the helper. */
export function readService(requested: RequestedJob, value: unknown): void {
  if (typeof value === 'string' && value !== '') requested.service = value;
  else {
    const problem = `must be the id of a helper, but is ${describeValue(value)}`;
    requested.problems.push({ field: 'service', problem });
  }
}

/** Reads a webhook of JSON: an object with its url. */
export function readWebhook(requested: RequestedJob, text: string): void {
  const read = readJsonObject(text);
  const report = (field: string, problem: string) =>
    void requested.problems.push({ field: `webhook${field}`, problem });
  if ('problems' in read) {
    for (const { field, problem } of read.problems) report(field === 'body' ? '' : `.${field}`, problem);
    return;
  }
  const { url, ...others } = read.value;
  const unknown = Object.keys(others);
  if (typeof url !== 'string')
    report('.url', url === undefined ? 'is required' : `must be a url, but is ${describeValue(url)}`);
  else if (unknown.length === 0) requested.webhookUrl = url;
  for (const name of unknown)
    report(`.${fieldName(name)}`, `is not known; known is url${didYouMean(name, ['url'])}`);
}

/** A form's webhook: its url, or the object of JSON. */
export function readWebhookField(requested: RequestedJob, text: string): void {
  if (looksLikeJson(text)) readWebhook(requested, text);
  else requested.webhookUrl = text;
}

export const jobId = {
  type: 'string',
  pattern: jobIdPattern,
  form: "a job's id such as job_4fGhJ2kLm9Qr",
} as const;

export const jobPageSchema = {
  properties: {
    limit: { type: 'integer', minimum: 1, maximum: 100, default: 20, description: 'Jobs at most.' },
    after: { ...jobId, description: '`next` of the page before.' },
  },
} as const satisfies FieldsSchema;

export const itemPageSchema = {
  properties: {
    limit: { type: 'integer', minimum: 1, maximum: 1000, default: 100, description: 'Items at most.' },
    after: { type: 'integer', minimum: 0, maximum: 1_000_000, description: '`next` of the page before.' },
  },
} as const satisfies FieldsSchema;

const ajv = createAdminVocabulary({});
const noFields = compileFields<object>(ajv, { properties: {} });

export const jobPage = compileFields<{ limit: number; after?: string }>(ajv, jobPageSchema);
export const itemPage = compileFields<{ limit: number; after?: number }>(ajv, itemPageSchema);

function readQuery<T>(
  { values, problems }: QueryText,
  fields: Fields<T>,
): { value: T; problems: FieldProblem[] } {
  const checked = fields.check(fields.coerce(values));
  return { value: checked.value, problems: [...problems, ...checked.problems] };
}

/** What is wrong with a query that should be empty. */
export function emptyQueryProblems(query: QueryText): FieldProblem[] {
  return readQuery(query, noFields).problems;
}

/** Validates the query; hands on the page that it asks for. */
export function readPage<T>(fields: Fields<T>): Stage<Call & { query: QueryText }, { page: T }> {
  return function readPage({ query }, next) {
    const { value, problems } = readQuery(query, fields);
    rejectProblems(problems);
    return next({ page: value });
  };
}

/** Refuses whatever stands in the query. */
export const requireEmptyQuery = () => readPage(noFields);
