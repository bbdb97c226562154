import type { SuccessWith } from './envelopes.js';
import { failuresOf } from './failures.js';
import { headersOf } from './headers.js';

const text = { type: 'string' };

/** The paths that tell of the gateway itself; they need no key. */
export function healthPaths(successWith: SuccessWith): Record<string, object> {
  return {
    '/healthz': {
      get: operation('alive', 'Whether the process is alive', successWith, {
        required: ['status'],
        properties: { status: { ...text, const: 'alive' } },
      }),
    },
    '/readyz': {
      get: operation('ready', 'Whether the gateway may take traffic', successWith, {
        required: ['status', 'engine', 'keys', 'threads'],
        properties: {
          status: { ...text, const: 'ready' },
          engine: { ...text, description: 'What draws pictures.' },
          engine_fallback: { ...text, description: 'Why it is not sharp.' },
          keys: { ...text, enum: ['available', 'unavailable'] },
          threads: { type: 'integer', minimum: 0, description: 'Worker threads that are ready.' },
          missing: { type: 'array', items: text, description: 'Helpers that a worker could not load.' },
        },
      }),
    },
  };
}

function operation(operationId: string, summary: string, successWith: SuccessWith, data: object): object {
  return {
    operationId,
    summary,
    tags: ['gateway'],
    security: [],
    responses: {
      200: {
        description: 'Yes.',
        headers: headersOf([]),
        content: {
          'application/json': {
            schema: successWith({ type: 'object', additionalProperties: false, ...data }),
          },
        },
      },
      ...failuresOf([400, 405, 408, 431, 500, 503]),
    },
  };
}
