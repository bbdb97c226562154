import type { Shape } from './contract-values.js';

/** The types of JSON, and `integer`. */
type TypeName = 'array' | 'boolean' | 'integer' | 'null' | 'number' | 'object' | 'string';

/** A schema, or `true` for anything and `false` for nothing. */
type Subschema = Schema | boolean;

type Named<S> = { readonly [name: string]: S };

/** The bounds of a `measure`, in pixels, and the texts that it accepts. */
interface MeasureSetting {
  readonly minimum: number;
  readonly maximum: number;
  readonly percent?: true;
  readonly auto?: true;
}

/** Keywords for strings alone. */
interface StringKeywords {
  readonly minLength?: number;
  readonly maxLength?: number;
  /** A regular expression, in the `u` mode; write `^` and `$` where the whole text is meant. */
  readonly pattern?: string;
  /** On a string: any solid colour; becomes `#rrggbb`. With `{ auto: true }` the word `auto` too. */
  readonly color?: true | { readonly auto: true };
  /** On a string: `{ png: [], jpg: ['jpeg'] }` accepts a name or one of its aliases, in any case; becomes the name. */
  readonly choice?: Named<readonly string[]>;
  /** On a string: every character can be drawn by the fonts here. With `{ lines: true }` it may have line breaks; they become line feeds. */
  readonly drawable?: true | { readonly lines: true };
  /** On a string beside `choice`: the image engine here writes this format. */
  readonly encodable?: true;
}

/** Keywords for numbers alone. */
interface NumberKeywords {
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: number;
  readonly exclusiveMaximum?: number;
  readonly multipleOf?: number;
}

/** Keywords for numbers that may be written as strings. */
interface AmountKeywords {
  /** On `['number', 'string']`: 0 to 1, `"50%"`, or 2 to 100 as per cent; becomes a number from 0, or from `minimum`, to 1. */
  readonly fraction?: true;
  /**
   * On `['integer', 'string']`: a length in a picture, in whole pixels from `minimum` to `maximum`; with `percent` also `"5%"`, of
   * what the description says, and with `auto` also `auto`. Becomes a number of pixels, or one of these texts.
   */
  readonly measure?: MeasureSetting;
}

/** Keywords for lists alone. */
interface ArrayKeywords {
  /** One schema for each item, or a list of them, one a place: then with `minItems` and `maxItems` of its length. */
  readonly items?: Subschema | readonly Subschema[];
  readonly additionalItems?: Subschema;
  readonly contains?: Subschema;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly uniqueItems?: boolean;
}

/** Keywords for objects alone. */
interface ObjectKeywords {
  readonly properties?: Named<Subschema>;
  readonly required?: readonly string[];
  /** `true` keeps a nested object open, which is closed otherwise where it declares `properties`. */
  readonly additionalProperties?: Subschema;
  readonly patternProperties?: Named<Subschema>;
  readonly propertyNames?: Subschema;
  readonly minProperties?: number;
  readonly maxProperties?: number;
  readonly dependencies?: Named<Subschema | readonly string[]>;
  /**
   * At the top of `input`: parameters that are to be sent beside these values of others alone, `{ quality: { format: ['jpg'] } }`. A
   * default says nothing; values stand in their normal form.
   */
  readonly onlyWith?: Named<Named<readonly (string | number | boolean)[]>>;
  readonly discriminator?: { readonly propertyName: string };
}

/** The types of the values that a keyword is for, of which the `type` beside it must include one; `never` where it is for any. */
export type TypeOfKeyword<K> =
  | (K extends keyof StringKeywords | keyof AmountKeywords ? 'string' : never)
  | (K extends keyof NumberKeywords | keyof AmountKeywords ? 'number' : never)
  | (K extends keyof ArrayKeywords ? 'array' : never)
  | (K extends keyof ObjectKeywords ? 'object' : never);

/**
 * What may be written in a plugin's `input` and `output`: JSON Schema draft-07 as ajv's strict mode accepts it, and the keywords
 * `color`, `choice`, `fraction`, `measure`, `drawable`, `encodable` and `onlyWith`. `format` is not among them: none is known.
 */
export interface Schema
  extends StringKeywords,
    NumberKeywords,
    AmountKeywords,
    ArrayKeywords,
    ObjectKeywords {
  readonly type?: TypeName | readonly TypeName[];
  readonly nullable?: boolean;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  /** What the handler gets where the caller says nothing; goes through the schema itself. */
  readonly default?: unknown;

  readonly title?: string;
  /** For people: shown wherever the parameter is. */
  readonly description?: string;
  readonly examples?: readonly unknown[];
  readonly deprecated?: boolean;
  readonly readOnly?: boolean;
  readonly writeOnly?: boolean;
  readonly $comment?: string;
  readonly contentEncoding?: string;
  readonly contentMediaType?: string;

  readonly allOf?: readonly Subschema[];
  readonly anyOf?: readonly Subschema[];
  readonly oneOf?: readonly Subschema[];
  readonly not?: Subschema;
  readonly if?: Subschema;
  readonly then?: Subschema;
  readonly else?: Subschema;

  readonly definitions?: Named<Subschema>;
  readonly $defs?: Named<Subschema>;
  /** To a part of the same `input`, such as `#/definitions/size`. */
  readonly $ref?: string;
  readonly $id?: string;
  readonly $schema?: string;
}

/** The schema of an object, such as the data of an answer. */
export interface ObjectSchema extends Schema {
  readonly type: 'object';
}

/** The schema of all parameters: each stands in `properties`. */
export interface InputSchema extends ObjectSchema {
  readonly properties?: Named<Schema>;
  readonly patternProperties?: never;
  readonly propertyNames?: never;
  readonly $ref?: never;
}

/**
 * `S` where it is a schema without a mistake that types can find; otherwise what it should have been, so that the compiler points at the
 * keyword. A type parameter accepts any property that its constraint does not name; a plain `Schema` refuses a misspelt one and
 * suggests the right one.
 */
export type Checked<S> = [Misspelt<S>] extends [never]
  ? [S] extends [Fitting<S, S> & Complete<S>]
    ? S
    : Fitting<S, S> & Complete<S>
  : Schema & Unknown<Misspelt<S>>;

/** The same for what is declared by name, such as files, each of them a `Field`. */
export type CheckedFields<Fields, Field> = [
  { [Name in keyof Fields]: Exclude<keyof Fields[Name], keyof Field> }[keyof Fields],
] extends [never]
  ? Fields
  : { readonly [name: string]: Field };

/** Stands where a schema has keywords that there are not. */
interface Unknown<Keyword> {
  'has unknown keywords': Keyword;
}

/** Keywords whose value holds schemas by name; in a list, alone, or either way. */
type ByName = 'properties' | 'patternProperties' | 'definitions' | '$defs' | 'dependencies';
type Nested =
  | ('allOf' | 'anyOf' | 'oneOf' | 'items' | 'additionalItems' | 'additionalProperties' | 'contains')
  | ('propertyNames' | 'not' | 'if' | 'then' | 'else');

/** Whether nothing more is known of `S` than that it is a schema, which holds schemas without end. */
type IsAny<S> = InputSchema extends S ? true : false;

/** The keywords of a schema, and of those in it, that there are not. */
type Misspelt<S> =
  IsAny<S> extends true
    ? never
    : S extends boolean | readonly unknown[]
      ? never
      : { [K in keyof S]-?: K extends keyof Schema ? MisspeltIn<K, S[K]> : K }[keyof S];
type MisspeltIn<K, Value> = K extends ByName
  ? { [Name in keyof Value]: Misspelt<Value[Name]> }[keyof Value]
  : K extends Nested
    ? Misspelt<Value extends readonly (infer Each)[] ? Each : Value>
    : never;

/** The schema with each `default` in it replaced by what it may be, and each keyword of another type by a message about that. */
type Fitting<S, Root> =
  IsAny<S> extends true
    ? S
    : S extends boolean | readonly unknown[]
      ? S
      : {
          [K in keyof S]: IsOfAnother<K, S> extends true
            ? `is for the type ${TypeOfKeyword<K>}`
            : K extends 'default'
              ? Shape<S, Root, 'sent'>
              : FittingIn<K, S[K], Root>;
        };
type FittingIn<K, Value, Root> = K extends ByName
  ? FittingEach<Value, Root>
  : K extends Nested
    ? Value extends readonly unknown[]
      ? FittingEach<Value, Root>
      : Fitting<Value, Root>
    : Value;
type FittingEach<Group, Root> = { [Name in keyof Group]: Fitting<Group[Name], Root> };
type IsOfAnother<K, S> = [TypeOfKeyword<K>] extends [never]
  ? false
  : S extends { type: infer Type }
    ? [Extract<Widest<Type extends readonly (infer Each)[] ? Each : Type>, TypeOfKeyword<K>>] extends [never]
      ? true
      : false
    : false;
type Widest<Type> = Type extends 'integer' ? 'number' : Type;

/** Names in `required` and `onlyWith` must be properties, unless an alternative declares them or the names are unknown. */
type Complete<S> = RequiredProperties<S> & ConditionedProperties<S>;

type ConditionedProperties<S> = S extends { onlyWith: infer Rules; properties: infer P }
  ? string extends keyof P
    ? unknown
    : {
        readonly onlyWith: {
          readonly [Name in keyof Rules]: Name extends keyof P
            ? { readonly [Other in keyof Rules[Name]]: Other extends keyof P ? Rules[Name][Other] : never }
            : never;
        };
      }
  : unknown;

type RequiredProperties<S> = S extends { allOf: unknown } | { anyOf: unknown } | { oneOf: unknown }
  ? unknown
  : S extends { required: readonly (infer Name)[]; properties: infer P }
    ? string extends Name
      ? unknown
      : { readonly required: readonly (keyof P & string)[] }
    : unknown;
