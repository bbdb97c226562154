import type { FieldProblem } from '../../../schemas/field-problem.js';
import { readJsonObject } from '../../../schemas/input/json-object.js';
import { looksLikeJson } from '../../../schemas/input/json-scan.js';
import { didYouMean } from '../../../schemas/nearest.js';
import { describeValue, fieldName } from '../../../schemas/quote.js';
import { mostItems } from '../model.js';

/** What a request for a job holds in JSON. */
export const jobFields = ['service', 'inputs', 'webhook'] as const;

/** What `inputs` must be, for messages. */
export const inputsForm = `a list of 1 to ${mostItems} objects`;

/** Bytes of a service or a webhook, as it is written: more is none of them. */
export const mostFieldBytes = 64 * 1024;

/** What was read, or why it is none. */
type Read = { value: string } | { problems: FieldProblem[] };

export function readService(value: unknown): Read {
  if (typeof value === 'string' && value !== '') return { value };
  return problemOf('service', `must be the id of a helper, but is ${describeValue(value)}`);
}

/** Reads `{"url": …}`. */
export function readWebhook(text: string): Read {
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
export function readWebhookField(text: string): Read {
  return looksLikeJson(text) ? readWebhook(text) : { value: text };
}

function problemOf(field: string, problem: string): { problems: FieldProblem[] } {
  return { problems: [{ field, problem }] };
}
