import type { FuncKeywordDefinition, SchemaValidateFunction } from 'ajv';

/** A value in its normal form, or what is wrong with it. */
export type Normalised = { ok: true; value: unknown } | { ok: false; problem: string };

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
          validate.errors = [{ keyword, message: result.problem, params: {} }];
          return false;
        }
        if (context) context.parentData[context.parentDataProperty] = result.value;
        return true;
      };
      return validate;
    },
  };
}
