import type { BodyText, RawInput } from '../../schemas/input/judge-input.js';
import { type MultipartLimits, uploadTooLarge } from '../http/body/multipart.js';
import { bodyTooLarge } from '../http/body/text-body.js';
import type { BodyInput } from '../pipeline/read-input.js';
import type { Shown } from '../pipeline/with-preview.js';

/** What a call brings: texts, which are read as a query's are, or the text of a JSON object; and files. */
export interface GivenInput extends Partial<Pick<RawInput, 'query' | 'body'>> {
  uploads?: BodyInput['uploads'];
  /** Where its answer is to be shown and not only kept. */
  shown?: Shown;
}

/** Throws what HTTP answers to a body of this size: `too_large`. */
export function checkSize({ query, body, uploads }: GivenInput, limits: MultipartLimits): void {
  const texts = [...(query?.values.values() ?? [])].reduce((sum, text) => sum + Buffer.byteLength(text), 0);
  if (texts + bytesOf(body) > limits.maxTextBytes) throw bodyTooLarge(limits.maxTextBytes);
  const files = [...(uploads?.values() ?? [])].reduce((sum, { bytes }) => sum + bytes.byteLength, 0);
  if (files > limits.maxFileBytes) throw uploadTooLarge(limits);
}

function bytesOf(body: BodyText | undefined): number {
  if (body === undefined) return 0;
  if (body.kind !== 'fields') return body.bytes.byteLength;
  return [...body.fields.values()].reduce((sum, { byteLength }) => sum + byteLength, 0);
}
