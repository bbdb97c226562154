import type { Ajv, ValidateFunction } from 'ajv';
import type { JsonSchema } from '../json-schema.js';
import type { FitsAt } from './coerce.js';
import { copyParameter } from './copy-parameter.js';

/** The root is known by it only while a schema inside of it is compiled. */
const id = 'urn:helper-gateway:parameters';

/** Judges by the schemas inside of `root`, each compiled with the first text that asks: few calls ever bring one. */
export function createFitsAt(ajv: Ajv, root: JsonSchema): FitsAt {
  function compile(pointer: string): ValidateFunction {
    try {
      ajv.addSchema(root, id);
      return ajv.compile({ type: 'object', properties: { value: { $ref: `${id}#${pointer}` } } });
    } finally {
      ajv.removeSchema(id);
    }
  }
  return (schema, pointer) => {
    let validate: ValidateFunction | undefined;
    return (value) => {
      const copied = copyParameter(schema, value, root);
      if (!copied.ok) return false;
      validate ??= compile(pointer);
      return validate({ value: copied.value });
    };
  };
}
