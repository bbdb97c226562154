/** The types of JSON, and `integer`. */
export type TypeName = 'array' | 'boolean' | 'integer' | 'null' | 'number' | 'object' | 'string';

/** A schema, or `true` for anything and `false` for nothing. */
export type Subschema = Schema | boolean;

type Named<S> = { readonly [name: string]: S };

/** The bounds of a `measure`, in pixels, and what else it takes. */
export interface MeasureSetting {
  readonly minimum: number;
  readonly maximum: number;
  readonly percent?: true;
  readonly auto?: true;
}

/**
 * What may be written in a plugin's `input` and `output`: JSON Schema draft-07 as ajv's strict mode takes it, and the keywords
 * `color`, `choice`, `fraction`, `measure`, `drawable`, `encodable` and `onlyWith`. `format` is not among them: none is known.
 */
export interface Schema {
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

  readonly minLength?: number;
  readonly maxLength?: number;
  /** A regular expression, in the `u` mode; write `^` and `$` where the whole text is meant. */
  readonly pattern?: string;
  readonly contentEncoding?: string;
  readonly contentMediaType?: string;
  /** On a string: any solid colour; becomes `#rrggbb`. With `{ auto: true }` the word `auto` too. */
  readonly color?: true | { readonly auto: true };
  /** On a string: `{ png: [], jpg: ['jpeg'] }` takes a name or one of its aliases, in any case; becomes the name. */
  readonly choice?: Named<readonly string[]>;
  /** On `['number', 'string']`: 0 to 1, `"50%"`, or 2 to 100 as per cent; becomes a number from 0, or from `minimum`, to 1. */
  readonly fraction?: true;
  /**
   * On `['integer', 'string']`: a length in a picture, in whole pixels from `minimum` to `maximum`; with `percent` also `"5%"`, of
   * what the description says, and with `auto` also `auto`. Becomes a number of pixels, or one of these texts.
   */
  readonly measure?: MeasureSetting;
  /** On a string: every character can be drawn by the fonts here. With `{ lines: true }` it may have line breaks; they become line feeds. */
  readonly drawable?: true | { readonly lines: true };
  /** On a string beside `choice`: the image engine here writes this format. */
  readonly encodable?: true;

  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: number;
  readonly exclusiveMaximum?: number;
  readonly multipleOf?: number;

  /** One schema for each item, or a list of them, one a place: then with `minItems` and `maxItems` of its length. */
  readonly items?: Subschema | readonly Subschema[];
  readonly additionalItems?: Subschema;
  readonly contains?: Subschema;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly uniqueItems?: boolean;

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

  readonly allOf?: readonly Subschema[];
  readonly anyOf?: readonly Subschema[];
  readonly oneOf?: readonly Subschema[];
  readonly discriminator?: { readonly propertyName: string };
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

/** Keywords that judge values of some types alone: beside a `type` they go with one of these. `number` is `integer` too. */
export interface KeywordTypes {
  minLength: 'string';
  maxLength: 'string';
  pattern: 'string';
  color: 'string';
  choice: 'string';
  drawable: 'string';
  encodable: 'string';
  fraction: 'number' | 'string';
  measure: 'number' | 'string';
  minimum: 'number';
  maximum: 'number';
  exclusiveMinimum: 'number';
  exclusiveMaximum: 'number';
  multipleOf: 'number';
  items: 'array';
  additionalItems: 'array';
  contains: 'array';
  minItems: 'array';
  maxItems: 'array';
  uniqueItems: 'array';
  properties: 'object';
  required: 'object';
  additionalProperties: 'object';
  patternProperties: 'object';
  propertyNames: 'object';
  minProperties: 'object';
  maxProperties: 'object';
  dependencies: 'object';
  discriminator: 'object';
  onlyWith: 'object';
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
