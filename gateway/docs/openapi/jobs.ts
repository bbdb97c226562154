import type { Components } from '../../../schemas/convert-schema.js';
import type { FieldsSchema } from '../../../schemas/fields.js';
import { closedObject, type JsonSchema } from '../../../schemas/json-schema.js';
import { toStandard } from '../../../schemas/keywords/keywords.js';
import { itemPageSchema, jobId, jobPageSchema } from '../../jobs/api/fields.js';
import { mostItems } from '../../jobs/model.js';
import { failuresOf, type HeaderName, jsonResponse, limitHeaders, type SuccessWith } from './responses.js';

const text = { type: 'string' };
const count = { type: 'integer', minimum: 0 };
const state = { ...text, enum: ['waiting', 'running', 'done', 'failed', 'cancelled'] };
const time = { ...text, format: 'date-time' };
const timeOrNull = { type: ['string', 'null'], format: 'date-time' };
const jobIdSchema = { ...text, examples: ['job_0VTt3qXy2hYb7LkQmZ4dRs'] };

/** A job as it is answered. */
const jobProperties: Record<string, JsonSchema> = {
  id: jobIdSchema,
  service: { ...text, description: 'The helper that its items are calls of.' },
  state: {
    ...state,
    description: '`failed` where no item was done, `cancelled` where it was called off before its end.',
  },
  total: { type: 'integer', minimum: 1, maximum: mostItems, description: 'Its items.' },
  done: { ...count, description: 'Items that are done.' },
  failed: { ...count, description: 'Items that have failed.' },
  cancelled: { ...count, description: 'Items that were cancelled.' },
  created_at: time,
  finished_at: { ...timeOrNull, description: 'Null until it has ended.' },
  expires_at: {
    ...timeOrNull,
    description: 'When it and its results are forgotten; null until it has ended.',
  },
};

const itemSchema = closedObject(
  {
    index: { ...count, description: 'Its place among the inputs, from 0.' },
    state,
    error: {
      ...closedObject(
        {
          code: text,
          message: text,
          details: { type: 'array', items: closedObject({ field: text, problem: text }) },
        },
        ['details'],
      ),
      description: 'What it failed with.',
    },
    result: {
      ...closedObject({
        type: { ...text, description: 'Its media type.' },
        bytes: count,
        url: { ...text, description: 'The path that answers with it.' },
      }),
      description: 'Of an item that is done.',
    },
  },
  ['error', 'result'],
);

/** The list of jobs, and a job with some of its items. */
function pageSchemas(job: JsonSchema, item: JsonSchema): { jobs: JsonSchema; items: JsonSchema } {
  const next = 'What `after` is to be for the page behind this one; null where there is none.';
  return {
    jobs: closedObject({
      jobs: { type: 'array', items: job },
      next: { type: ['string', 'null'], description: next },
    }),
    items: closedObject({
      ...jobProperties,
      items: { type: 'array', items: item },
      next: { type: ['integer', 'null'], description: next },
    }),
  };
}

const webhookUrl = {
  ...text,
  description: 'Called when the job has ended (Standard Webhooks). A public https address.',
  examples: ['https://example.com/hooks/jobs'],
};

/** The body that creates a job, as JSON and as a form. */
function requestSchemas(services: readonly string[]): { json: JsonSchema; form: JsonSchema } {
  const service = { ...text, enum: services, description: 'The helper.' };
  return {
    json: closedObject(
      {
        service,
        inputs: {
          type: 'array',
          minItems: 1,
          maxItems: mostItems,
          items: { type: 'object', additionalProperties: true },
          description:
            'What the helper is to be called with. Each is validated when it is worked on: an invalid one fails alone.',
        },
        webhook: closedObject({ url: webhookUrl }),
      },
      ['webhook'],
    ),
    form: {
      type: 'object',
      required: ['service', 'file'],
      additionalProperties: true,
      description: 'Fields other than these are parameters of every item.',
      properties: {
        service,
        webhook: webhookUrl,
        file: {
          type: 'array',
          minItems: 1,
          maxItems: mostItems,
          items: { type: 'string', format: 'binary', contentMediaType: 'application/octet-stream' },
          description: 'The field as often as there are files: each is an item.',
        },
      },
    },
  };
}

/** The errors of any request with a key, and of one that names a job. */
const usual = [400, 401, 405, 408, 429, 431, 500, 503];
const ofOne = [...usual, 404];

/** The paths of jobs of these helpers; their shapes are put among the components. */
export function jobPaths(
  services: readonly string[],
  components: Components,
  successWith: SuccessWith,
): Record<string, object> {
  const job = components.add('Job', closedObject(jobProperties));
  const pages = pageSchemas(job, components.add('JobItem', itemSchema));
  const answer = (description: string, data: JsonSchema, headers: readonly HeaderName[] = []) =>
    jsonResponse(description, successWith(data), [...limitHeaders, ...headers]);
  const done = answer('Done.', { type: 'object', additionalProperties: true });
  const request = requestSchemas(services);
  return {
    '/jobs': {
      get: {
        ...about(
          'listJobs',
          'The jobs of the tenant',
          'The newest first, of the helpers that the key may call.',
        ),
        parameters: inQuery(jobPageSchema),
        responses: { 200: answer('A page of jobs.', pages.jobs), ...failuresOf(usual) },
      },
      post: {
        ...about(
          'createJob',
          'Have a helper called many times, without waiting for it',
          'Each input, or each file of a form, becomes an item of the job: a call of the helper like any other, which counts in the quota when it is worked on.',
        ),
        parameters: [idempotencyKey],
        requestBody: {
          required: true,
          content: {
            'application/json': { schema: request.json },
            'multipart/form-data': { schema: request.form },
          },
        },
        responses: {
          202: answer('The job has been made, or was by the same request before.', job, [
            'Location',
            'Idempotency-Replayed',
          ]),
          ...failuresOf([...usual, 403, 409, 413, 415]),
        },
      },
    },
    '/jobs/{id}': {
      get: {
        ...about('getJob', 'A job and its items', 'Items come in pages, by their index.'),
        parameters: [id, ...inQuery(itemPageSchema)],
        responses: { 200: answer('The job with a page of its items.', pages.items), ...failuresOf(ofOne) },
      },
      delete: {
        ...about(
          'deleteJob',
          'Cancel what waits, or forget a job that has ended',
          'Items that are running are finished. A job that has ended is forgotten with its results: it is 404 from then on.',
        ),
        parameters: [id],
        responses: { 200: answer('The job as it is now, or was.', job), ...failuresOf(ofOne) },
      },
    },
    '/jobs/{id}/items/{index}': {
      get: {
        ...about(
          'getJobItem',
          'The answer of an item',
          'What the helper would have answered to a call: its bytes, its data, or its error with its status. `meta.service` is the helper then, and null in errors of this path itself: 409 with `Retry-After` until the item has ended, 404 where it was cancelled.',
        ),
        parameters: [id, index],
        responses: {
          200: {
            ...done,
            content: { '*/*': { schema: { type: 'string', format: 'binary' } }, ...done.content },
          },
          ...failuresOf(),
        },
      },
    },
  };
}

const id = {
  name: 'id',
  in: 'path',
  required: true,
  description: 'Of the job.',
  schema: toStandard(jobId),
};

const index = { name: 'index', in: 'path', required: true, schema: { type: 'integer', minimum: 0 } };

const idempotencyKey = {
  name: 'Idempotency-Key',
  in: 'header',
  required: false,
  description:
    'What the client calls its request, such as a random UUID: the same request with it again is answered with the same job, another is a `conflict`. It holds for as long as the job is kept.',
  schema: { type: 'string', minLength: 1, maxLength: 255, pattern: '^[!-~]+$' },
};

function about(operationId: string, summary: string, description: string): object {
  return { operationId, summary, description, tags: ['jobs'] };
}

function inQuery({ properties }: FieldsSchema): object[] {
  return Object.entries(properties).map(([name, property]) => {
    const { description, ...schema } = toStandard(property);
    return { name, in: 'query', required: false, description, schema };
  });
}
