import { boundProblems, type FieldProblem, fieldName } from '../../../schemas/field-problem.js';
import { compileFields, type Fields, type FieldsSchema } from '../../../schemas/fields.js';
import { looksLikeJson, type QueryText, readJsonObject } from '../../../schemas/input/parse.js';
import { didYouMean } from '../../../schemas/nearest.js';
import { describeValue } from '../../../schemas/quote.js';
import { createAdminVocabulary } from '../../../schemas/vocabulary.js';
import { inputError } from '../../errors.js';
import type { UploadedFile } from '../../http/multipart.js';
import type { Call, Stage } from '../../pipeline/stage.js';
import { mostItems } from '../model.js';

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

type FieldRead = { value: string } | { problems: FieldProblem[] };

export function readService(value: unknown): FieldRead {
  if (typeof value === 'string' && value !== '') return { value };
  const problem = `must be the id of a helper, but is ${describeValue(value)}`;
  return { problems: [{ field: 'service', problem }] };
}

export function readWebhook(text: string): FieldRead {
  const read = readJsonObject(text);
  if ('problems' in read) {
    const problems = read.problems.map(({ field, problem }) => ({
      field: field === 'body' ? 'webhook' : `webhook.${field}`,
      problem,
    }));
    return { problems };
  }
  const { url, ...others } = read.value;
  const problems = Object.keys(others).map((name) => ({
    field: `webhook.${fieldName(name)}`,
    problem: `is not known; known is url${didYouMean(name, ['url'])}`,
  }));
  if (url === undefined) problems.unshift({ field: 'webhook.url', problem: 'is required' });
  else if (typeof url !== 'string') {
    problems.unshift({ field: 'webhook.url', problem: `must be a url, but is ${describeValue(url)}` });
  }
  return problems.length > 0 || typeof url !== 'string' ? { problems } : { value: url };
}

/** A form's webhook: its url, or the object of JSON. */
export function readWebhookField(text: string): FieldRead {
  return looksLikeJson(text) ? readWebhook(text) : { value: text };
}

export const jobId = {
  type: 'string',
  pattern: '^job_[0-9A-Za-z]{1,40}$',
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
export function requireEmptyQuery(): Stage<Call & { query: QueryText }, object> {
  return function readNothing({ query }, next) {
    rejectProblems(emptyQueryProblems(query));
    return next({});
  };
}
