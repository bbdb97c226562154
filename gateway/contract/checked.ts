import type { InputSchema, KeywordTypes, Schema } from './schema.js';
import type { Shape } from './value.js';

/**
 * `S` where it is a schema without a mistake that types can tell; else what it should have been, so that the compiler points at the
 * keyword. A type parameter takes any property that its constraint does not name; a plain `Schema` refuses a misspelt one and
 * says what was meant.
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

type ByName = 'properties' | 'patternProperties' | 'definitions' | '$defs' | 'dependencies';
type InList = 'allOf' | 'anyOf' | 'oneOf';
type Single =
  | 'additionalItems'
  | 'additionalProperties'
  | 'contains'
  | 'propertyNames'
  | 'not'
  | 'if'
  | 'then'
  | 'else';

/** Whether nothing more is known of `S` than that it is a schema, which holds schemas without end. */
type IsAny<S> = InputSchema extends S ? true : false;

/** The keywords of a schema, and of those in it, that there are not. */
type Misspelt<S> =
  IsAny<S> extends true
    ? never
    : S extends boolean | readonly unknown[]
      ? never
      : {
          [K in keyof S]-?: K extends keyof Schema
            ? K extends ByName
              ? MisspeltBelow<S[K]>
              : K extends InList
                ? MisspeltInList<S[K]>
                : K extends 'items'
                  ? S[K] extends readonly unknown[]
                    ? MisspeltInList<S[K]>
                    : Misspelt<S[K]>
                  : K extends Single
                    ? Misspelt<S[K]>
                    : never
            : K;
        }[keyof S];
type MisspeltBelow<Group> = { [Name in keyof Group]: Misspelt<Group[Name]> }[keyof Group];
type MisspeltInList<List> = List extends readonly (infer Each)[] ? Misspelt<Each> : never;

/** The schema with each `default` in it replaced by what it may be, and each keyword of another type by a word on that. */
type Fitting<S, Root> =
  IsAny<S> extends true
    ? S
    : S extends boolean | readonly unknown[]
      ? S
      : {
          [K in keyof S]: IsOfAnother<K, S> extends true
            ? `is for the type ${KeywordTypes[K & keyof KeywordTypes]}`
            : K extends 'default'
              ? Shape<S, Root, 'sent'>
              : K extends ByName | InList
                ? FittingEach<S[K], Root>
                : K extends 'items'
                  ? S[K] extends readonly unknown[]
                    ? FittingEach<S[K], Root>
                    : Fitting<S[K], Root>
                  : K extends Single
                    ? Fitting<S[K], Root>
                    : S[K];
        };
type IsOfAnother<K, S> = K extends keyof KeywordTypes
  ? S extends { type: infer Type }
    ? [Extract<Widest<Type extends readonly (infer Each)[] ? Each : Type>, KeywordTypes[K]>] extends [never]
      ? true
      : false
    : false
  : false;
type Widest<Type> = Type extends 'integer' ? 'number' : Type;
type FittingEach<Group, Root> = { [Name in keyof Group]: Fitting<Group[Name], Root> };

/** What is required, or has conditions, is a property, and so is what these are about; unless an alternative declares it or nobody knows the names. */
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
