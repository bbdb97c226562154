import type { FuncKeywordDefinition, SchemaValidateFunction } from 'ajv';

/** A value in its normal form, or what is wrong with it, and a hint that is looked for only where it is told. */
export type Normalised = { ok: true; value: unknown } | { ok: false; problem: string; hint?: () => string };

interface NormalisingKeyword {
  keyword: string;
  type: FuncKeywordDefinition['type'];
  /** JSON Schema of the keyword's own value in a schema. */
  metaSchema: FuncKeywordDefinition['metaSchema'];
  /** Called once when a schema is compiled, with the keyword's value; throws where it makes no sense. */
  prepare: (setting: unknown) => (value: unknown) => Normalised;
}

/** An ajv keyword that replaces a valid value by its normal form, and says what is wrong with any other. */
export function normalisingKeyword(options: NormalisingKeyword): FuncKeywordDefinition {
  const { keyword, type, metaSchema, prepare } = options;
  return {
    keyword,
    type,
    metaSchema,
    modifying: true,
    errors: true,
    compile(setting: unknown) {
      const normalise = prepare(setting);
      const validate: SchemaValidateFunction = function validateNormalised(value, context) {
        const result = normalise(value);
        if (!result.ok) {
          const { problem, hint } = result;
          const error = { keyword, params: {} };
          // Of a long list, a hint for each item would cost more than to judge it.
          validate.errors = [
            hint === undefined
              ? { ...error, message: problem }
              : Object.defineProperty(error, 'message', { get: () => problem + hint() }),
          ];
          return false;
        }
        if (context) context.parentData[context.parentDataProperty] = result.value;
        return true;
      };
      return validate;
    },
  };
}
