import { inputError } from '../../../errors.js';
import type { GivenInput } from '../../../local/given-input.js';
import type { Reply } from '../../../local/local-helpers.js';
import { envelopeOf, errorOf, type ServerAnswer } from './server-client.js';

const json = /^application\/json\b/i;

/** A call as a request: a form, with files beside its fields where there are some. Throws what is wrong with the words already. */
export function toRequest(given: GivenInput): { method: string; body: () => BodyInit } {
  const { query, uploads = new Map() } = given;
  if (query && query.problems.length > 0) throw inputError([...query.problems]);
  const values = [...(query?.values ?? [])];
  if (uploads.size === 0) return { method: 'POST', body: () => new URLSearchParams(values) };
  return {
    method: 'POST',
    body() {
      const form = new FormData();
      for (const [name, value] of values) form.append(name, value);
      for (const [field, { bytes, type, name }] of uploads) {
        form.append(field, new Blob([bytes], { type }), name ?? field);
      }
      return form;
    },
  };
}

/** What a helper's answer is, as a call in this process would have it. */
export function serverReply(answer: ServerAnswer): Reply {
  const type = answer.headers.get('content-type') ?? '';
  const service = null;
  if (answer.status < 300 && !json.test(type)) {
    const meta = { service, dryrun: false, request_id: answer.headers.get('x-request-id') ?? '' };
    return {
      ok: true,
      ms: 0,
      meta,
      answer: { kind: 'bytes', bytes: answer.bytes, type: type.split(';', 1)[0] as string },
    };
  }
  const { body, meta } = envelopeOf(answer, 'the address');
  if (!body.ok) return { ok: false, meta, error: errorOf(body, answer.status) };
  return { ok: true, ms: 0, meta, answer: { kind: 'json', text: JSON.stringify(body.data) } };
}
