import type { TestSite } from './test-site.js';
import { operatorToken } from './test-site.js';

export interface Envelope {
  ok: boolean;
  // biome-ignore lint/suspicious/noExplicitAny: each operation has its own
  data?: any;
  error?: { code: string; message: string; details?: { field: string; problem: string }[] };
  meta: { service: null; dryrun: boolean; request_id: string };
}

export interface Answer {
  status: number;
  headers: Headers;
  json: Envelope;
}

/** Calls the JSON API with the operator token; `body` goes out as JSON, or as it is where it is text. */
export type Call = (method: string, path: string, body?: unknown, init?: RequestInit) => Promise<Answer>;

export function createApiClient(site: () => TestSite): Call {
  return async function call(method, path, body, init = {}) {
    const text = body === undefined ? null : typeof body === 'string' ? body : JSON.stringify(body);
    const response = await fetch(`${site().url}${path}`, {
      method,
      body: text,
      ...init,
      headers: {
        authorization: `Bearer ${operatorToken}`,
        ...(text !== null && { 'content-type': 'application/json' }),
        ...(init.headers as Record<string, string>),
      },
    });
    const answer = await response.text();
    const json = (answer ? JSON.parse(answer) : {}) as Envelope;
    return { status: response.status, headers: response.headers, json };
  };
}

/** The problems of a 400, by field. */
export function problems({ json }: Answer): Record<string, string> {
  return Object.fromEntries((json.error?.details ?? []).map(({ field, problem }) => [field, problem]));
}
