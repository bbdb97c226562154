import type { FieldsSchema } from '../../../schemas/fields.js';
import type { JsonSchema } from '../../../schemas/json-schema.js';
import { standardSchema } from '../../../schemas/vocabulary/standard.js';
import { itemPageSchema, jobId, jobPageSchema } from '../../jobs/api/queries.js';
import type { SuccessWith } from './envelopes.js';
import { failuresOf } from './failures.js';
import { type HeaderName, headersOf, limitHeaders } from './headers.js';
import { itemSchema, jobSchema, pageSchemas, requestSchemas } from './job-schemas.js';
import type { Components } from './schema/components.js';

/** What any request with a key may be answered with, and one that names a job. */
const usual = [400, 401, 405, 408, 429, 431, 500, 503];
const ofOne = [...usual, 404];

/** The paths of jobs of these helpers; their shapes are put among the components. */
export function jobPaths(
  services: readonly string[],
  components: Components,
  successWith: SuccessWith,
): Record<string, object> {
  const place = (name: string, schema: JsonSchema) => {
    const { ref, set } = components.reserve(name);
    set(schema);
    return { $ref: ref };
  };
  const job = place('Job', jobSchema);
  const pages = pageSchemas(job, place('JobItem', itemSchema));
  const answer = (description: string, data: JsonSchema, headers: readonly HeaderName[] = []) => ({
    description,
    headers: headersOf([...limitHeaders, ...headers]),
    content: { 'application/json': { schema: successWith(data) } },
  });
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
            ...answer('Done.', { type: 'object', additionalProperties: true }),
            content: {
              '*/*': { schema: { type: 'string', format: 'binary' } },
              'application/json': { schema: successWith({ type: 'object', additionalProperties: true }) },
            },
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
  schema: standardSchema(jobId, []),
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
    const { description, ...schema } = standardSchema(property, []);
    return { name, in: 'query', required: false, description, schema };
  });
}
