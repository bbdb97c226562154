import type { FieldProblem } from '../../../schemas/field-problem.js';
import { compileFields, type Fields, type FieldsSchema } from '../../../schemas/fields.js';
import type { QueryText } from '../../../schemas/input/urlencoded.js';
import { createAdminVocabulary } from '../../../schemas/vocabulary/admin.js';
import type { Call, Stage } from '../../pipeline/stage.js';
import { requireNone } from './asked.js';

/** The form of a job's id. */
export const jobId = {
  type: 'string',
  pattern: '^job_[0-9A-Za-z]{1,40}$',
  form: "a job's id such as job_4fGhJ2kLm9Qr",
} as const;

/** A page of the tenant's jobs. */
export const jobPageSchema = {
  properties: {
    limit: { type: 'integer', minimum: 1, maximum: 100, default: 20, description: 'Jobs at most.' },
    after: { ...jobId, description: '`next` of the page before.' },
  },
} as const satisfies FieldsSchema;

/** A page of a job's items. */
export const itemPageSchema = {
  properties: {
    limit: { type: 'integer', minimum: 1, maximum: 1000, default: 100, description: 'Items at most.' },
    after: { type: 'integer', minimum: 0, maximum: 1_000_000, description: '`next` of the page before.' },
  },
} as const satisfies FieldsSchema;

const ajv = createAdminVocabulary({ knownScopes: () => [], now: Date.now });
const nothing = compileFields<object>(ajv, { properties: {} });

export const jobPage = compileFields<{ limit: number; after?: string }>(ajv, jobPageSchema);
export const itemPage = compileFields<{ limit: number; after?: number }>(ajv, itemPageSchema);

function read<T>({ values, problems }: QueryText, fields: Fields<T>): { value: T; problems: FieldProblem[] } {
  const judged = fields.check(fields.coerce(values));
  return { value: judged.value, problems: [...problems, ...judged.problems] };
}

/** What a query has that takes nothing. */
export function nothingOf(query: QueryText): FieldProblem[] {
  return read(query, nothing).problems;
}

/** Judges the query; hands on the page that it asks for. */
export function readPage<T>(fields: Fields<T>): Stage<Call & { query: QueryText }, { page: T }> {
  return function readPage({ query }, next) {
    const { value, problems } = read(query, fields);
    requireNone(problems);
    return next({ page: value });
  };
}

/** Refuses whatever stands in the query. */
export function readNothing(): Stage<Call & { query: QueryText }, object> {
  return function readNothing({ query }, next) {
    requireNone(nothingOf(query));
    return next({});
  };
}
