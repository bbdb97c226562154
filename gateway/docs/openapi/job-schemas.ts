import type { JsonSchema } from '../../../schemas/json-schema.js';
import { mostItems } from '../../jobs/model.js';

const text = { type: 'string' };
const count = { type: 'integer', minimum: 0 };
const state = { ...text, enum: ['waiting', 'running', 'done', 'failed', 'cancelled'] };
const time = { ...text, format: 'date-time' };
const timeOrNull = { type: ['string', 'null'], format: 'date-time' };
const jobId = { ...text, examples: ['job_0VTt3qXy2hYb7LkQmZ4dRs'] };

function closed(properties: Record<string, JsonSchema>, optional: readonly string[] = []): JsonSchema {
  const required = Object.keys(properties).filter((name) => !optional.includes(name));
  return { type: 'object', additionalProperties: false, required, properties };
}

/** A job as it is answered. */
export const jobProperties: Record<string, JsonSchema> = {
  id: jobId,
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

export const jobSchema = closed(jobProperties);

export const itemSchema = closed(
  {
    index: { ...count, description: 'Its place among the inputs, from 0.' },
    state,
    error: {
      ...closed(
        {
          code: text,
          message: text,
          details: { type: 'array', items: closed({ field: text, problem: text }) },
        },
        ['details'],
      ),
      description: 'What it failed with.',
    },
    result: {
      ...closed({
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
export function pageSchemas(job: JsonSchema, item: JsonSchema): { jobs: JsonSchema; items: JsonSchema } {
  const next = 'What `after` is to be for the page behind this one; null where there is none.';
  return {
    jobs: closed({
      jobs: { type: 'array', items: job },
      next: { type: ['string', 'null'], description: next },
    }),
    items: closed({
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

/** What makes a job, in JSON and as a form. */
export function requestSchemas(services: readonly string[]): { json: JsonSchema; form: JsonSchema } {
  const service = { ...text, enum: services, description: 'The helper.' };
  return {
    json: closed(
      {
        service,
        inputs: {
          type: 'array',
          minItems: 1,
          maxItems: mostItems,
          items: { type: 'object', additionalProperties: true },
          description:
            'What the helper is to be called with. Each is judged when it is worked on: one that is not valid fails alone.',
        },
        webhook: closed({ url: webhookUrl }),
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
