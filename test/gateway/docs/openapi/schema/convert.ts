import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import { createComponents } from '../../../../../gateway/docs/openapi/schema/components.js';
import { createConverter } from '../../../../../gateway/docs/openapi/schema/convert.js';
import type { JsonSchema } from '../../../../../schemas/json-schema.js';

/** A schema and what it refers to, as a document would hold them. */
export function converted(root: JsonSchema): JsonSchema {
  const components = createComponents('#/components/schemas');
  const schema = createConverter(root, 'it', components)(root);
  return { ...schema, components: { schemas: components.schemas } };
}

const ajv = new Ajv2020({ strict: false, ownProperties: true, addUsedSchema: false });

/** A judge by the converted schema, as 2020-12 says, with no keyword of the house. */
export function judgeBy(root: JsonSchema): ValidateFunction {
  return ajv.compile(converted(root));
}
