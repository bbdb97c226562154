import { randomUUID } from 'node:crypto';
import type { FileBytes } from '../../../../pool/task.js';
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
  const body = multipart(values, [...uploads]);
  return { method: 'POST', body: () => body };
}

/**
 * A multipart body, with its boundary in its type. `FormData` writes every line end of a text as CR LF, so the helper would be given
 * another text than was typed.
 */
export function multipart(
  values: Iterable<readonly [name: string, text: string]>,
  files: Iterable<readonly [field: string, file: FileBytes]>,
): Blob {
  const boundary = `form-${randomUUID()}`;
  const head = (name: string, more = '') =>
    `--${boundary}\r\nContent-Disposition: form-data; name="${escaped(name)}"${more}\r\n\r\n`;
  const parts: BlobPart[] = [];
  for (const [name, text] of values) parts.push(head(name), text, '\r\n');
  for (const [field, { bytes, type, name = field }] of files) {
    const more = `; filename="${escaped(name)}"\r\nContent-Type: ${type}`;
    parts.push(head(field, more), bytes as BlobPart, '\r\n');
  }
  return new Blob([...parts, `--${boundary}--\r\n`], { type: `multipart/form-data; boundary=${boundary}` });
}

/** As browsers write a name. */
function escaped(name: string): string {
  return name.replaceAll('\r', '%0D').replaceAll('\n', '%0A').replaceAll('"', '%22');
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
