import { mediaTypes } from '../../../pool/image/formats.js';
import type { JsonSchema } from '../../../schemas/json-schema.js';
import type { Helper } from '../../helpers/registry.js';
import type { SuccessWith } from './envelopes.js';
import { headersOf, limitHeaders } from './headers.js';
import { componentPrefix } from './names.js';
import type { Components } from './schema/components.js';
import { createConverter } from './schema/convert.js';

/** What nothing is known of. */
const open: JsonSchema = { type: 'object', additionalProperties: true };

/**
 * A helper's answer with 200, which covers its dry run. One that does not say what its data is may answer with bytes of any type,
 * too, and where it takes a picture this is most likely one.
 */
export function successResponse(helper: Helper, components: Components, successWith: SuccessWith): object {
  const json = { 'application/json': { schema: successWith(dataOf(helper, components)) } };
  return {
    description: 'Done.',
    headers: headersOf(limitHeaders),
    content: { ...bytesOf(helper), ...json },
  };
}

function bytesOf({ declaration: { output, files } }: Helper): Record<string, object> {
  if (output !== undefined) return {};
  const pictures = files.some(({ kind }) => kind === 'image') ? Object.values(mediaTypes) : [];
  const types = [...pictures, '*/*'];
  return Object.fromEntries(types.map((type) => [type, { schema: { type: 'string', format: 'binary' } }]));
}

function dataOf(helper: Helper, components: Components): JsonSchema {
  const { output, dryrun } = helper.declaration;
  const real = output
    ? createConverter(output, `${componentPrefix(helper.id)}.output`, components)(output)
    : open;
  if (dryrun === 'run') return real;
  const dry = dryrun === 'own' ? open : operationOf(helper.id);
  return output === undefined && dryrun === 'own' ? open : { anyOf: [real, dry] };
}

/** What a dry run answers where the helper has nothing of its own to say. */
function operationOf(id: string): JsonSchema {
  const name = id.slice(id.lastIndexOf('/') + 1);
  return {
    title: 'Of a dry run',
    type: 'object',
    required: ['operation'],
    additionalProperties: false,
    properties: { operation: { type: 'string', const: name } },
  };
}
