import type { BodyAnswer } from '../../../pool/body-answer.js';
import type { JsonSchema } from '../../../schemas/json-schema.js';

/** What stands for a file in the structured content of a tool that declares its data, and answers bytes all the same. */
export function fileFacts({ type, bytes }: BodyAnswer): { file: { type: string; bytes: number } } {
  return { file: { type, bytes: bytes.byteLength } };
}

/** The schema of that. */
export const fileFactsSchema: JsonSchema = {
  type: 'object',
  description: 'What stands for a file, which the content holds or links.',
  properties: {
    file: {
      type: 'object',
      properties: { type: { type: 'string' }, bytes: { type: 'integer' } },
      required: ['type', 'bytes'],
    },
  },
  required: ['file'],
  additionalProperties: false,
};
