import type { Ajv } from 'ajv';
import type { JsonSchema } from '../json-schema.js';
import type { FitsAt } from './coerce.js';
import { copyParameter } from './copy-parameter.js';

/** The root is known by it only while a schema inside of it is compiled. */
const id = 'urn:helper-gateway:parameters';

/** Judges by the schemas inside of `root`, each compiled when it is asked for, while the texts' readers are made. */
export function createFitsAt(ajv: Ajv, root: JsonSchema): FitsAt {
  return (schema, pointer) => {
    try {
      ajv.addSchema(root, id);
      const validate = ajv.compile({ type: 'object', properties: { value: { $ref: `${id}#${pointer}` } } });
      return (value) => {
        const copied = copyParameter(schema, value, root);
        return copied.ok && validate({ value: copied.value });
      };
    } finally {
      ajv.removeSchema(id);
    }
  };
}
