/** A value as a handler gets it, for a schema of which the literals are known. */
export type ValueOf<S> = Shape<S, S, 'got'>;

/** What a handler gets for its `input`: required and defaulted parameters are present. */
export type InputOf<S> = Named<Shape<S, S, 'got'>>;

/** The same in a dry run, in which `required` is lifted. */
export type DryrunInputOf<S> = Named<Shape<S, S, 'dryrun'>>;

/** What a caller sends: defaulted parameters may be missing, colours and choices come in any spelling. */
export type SentInputOf<S> = Named<Shape<S, S, 'sent'>>;

/** Parameters are closed: a schema without any has none. */
type Named<Input> = string extends keyof Input ? Record<never, never> : Input;

/**
 * Whose view of a value it is: the handler's (`got`: with defaults, in normal forms), the handler's in a dry run, where nothing is
 * required at the top (`dryrun`), or the caller's (`sent`).
 */
type View = 'got' | 'dryrun' | 'sent';
type Inside<V> = V extends 'dryrun' ? 'got' : V;

/**
 * The values that the schema `S` describes; `Root` is what its `$ref`s lead into. Properties are resolved when they are used,
 * so a schema may hold itself; `Steps` ends a chain of references that leads nowhere.
 */
export type Shape<S, Root, V extends View, Steps extends 0[] = []> = S extends false
  ? never
  : Steps['length'] extends 8
    ? unknown
    : S extends { $ref: infer Pointer }
      ? Shape<Target<Pointer, Root>, Root, V, [...Steps, 0]>
      : S extends Combined
        ? Flat<Own<S, Root, V> & All<S, Root, V, Steps> & Any<S, Root, V, Steps>> | Nullable<S>
        : Own<S, Root, V> | Nullable<S>;

type Combined = { allOf: unknown } | { anyOf: unknown } | { oneOf: unknown };
type Nullable<S> = S extends { nullable: true } ? null : never;

/** One object in place of the parts that it was made of, as a person would write it. */
type Flat<T> = T extends readonly unknown[] ? T : T extends object ? { [K in keyof T]: T[K] } : T;

type Target<Pointer, Root> = Pointer extends `#/${infer Group}/${infer Name}`
  ? Group extends keyof Root
    ? Name extends keyof Root[Group]
      ? Root[Group][Name]
      : true
    : true
  : true;

type All<S, Root, V extends View, Steps extends 0[]> = S extends { allOf: infer List }
  ? Every<List, Root, V, Steps>
  : unknown;
type Every<List, Root, V extends View, Steps extends 0[]> = List extends readonly [infer First, ...infer Rest]
  ? Shape<First, Root, V, Steps> & Every<Rest, Root, V, Steps>
  : unknown;

type Any<S, Root, V extends View, Steps extends 0[]> = (S extends { anyOf: readonly (infer Branch)[] }
  ? Shape<Branch, Root, V, Steps>
  : unknown) &
  (S extends { oneOf: readonly (infer Branch)[] } ? Shape<Branch, Root, V, Steps> : unknown);

/** By the keywords of a schema alone, without its alternatives. */
type Own<S, Root, V extends View> = S extends { const: infer Value }
  ? Value
  : S extends { enum: readonly (infer Value)[] }
    ? Value
    : S extends { color: infer Color }
      ? V extends 'sent'
        ? string
        : `#${string}` | Auto<Color, V>
      : S extends { fraction: true }
        ? V extends 'sent'
          ? number | string
          : number
        : S extends { measure: infer Setting }
          ? Measure<Setting, V>
          : S extends { choice: infer Choices }
            ? V extends 'sent'
              ? Spelling<Choices>
              : keyof Choices & string
            : S extends { type: readonly (infer Type)[] }
              ? Typed<Type, S, Root, V>
              : S extends { type: infer Type }
                ? Typed<Type, S, Root, V>
                : S extends { properties: unknown } | { required: unknown }
                  ? Fields<S, Root, V>
                  : unknown;

type Measure<Setting, V extends View> =
  | number
  | (V extends 'sent' ? `${number}` : never)
  | (Setting extends { percent: true } ? `${number}%` : never)
  | Auto<Setting, V>;
type Auto<Setting, V extends View> = Setting extends { auto: true }
  ? V extends 'sent'
    ? 'auto' | 'Auto' | 'AUTO'
    : 'auto'
  : never;

type Spelling<Choices> = keyof Choices | Aliases<Choices[keyof Choices]> extends infer Names
  ? Names extends string
    ? Names | Uppercase<Names>
    : never
  : never;
type Aliases<List> = List extends readonly (infer Alias)[] ? Alias : never;

type Typed<Type, S, Root, V extends View> = Type extends 'string'
  ? string
  : Type extends 'integer' | 'number'
    ? number
    : Type extends 'boolean'
      ? boolean
      : Type extends 'null'
        ? null
        : Type extends 'array'
          ? Items<S, Root, V>
          : Type extends 'object'
            ? Fields<S, Root, V>
            : unknown;

type Items<S, Root, V extends View> = S extends { items: infer Each }
  ? Each extends readonly unknown[]
    ? Writable<{ [I in keyof Each]: Shape<Each[I], Root, Inside<V>> }, V>
    : Writable<readonly Shape<Each, Root, Inside<V>>[], V>
  : Writable<readonly unknown[], V>;
/** What was written may be a constant; what a handler gets is its own. */
type Writable<List, V extends View> = V extends 'sent' ? List : { -readonly [I in keyof List]: List[I] };

type Fields<S, Root, V extends View> = S extends { properties: infer P }
  ? Flat<Declared<P, Root, V, Present<S, P, V>> & Undeclared<S, P, V>> & Open<S>
  : S extends Combined | { required: unknown }
    ? Undeclared<S, Record<never, never>, V>
    : Record<string, S extends { additionalProperties: infer A } ? Shape<A, Root, Inside<V>> : unknown>;

type Declared<P, Root, V extends View, There> = {
  -readonly [K in keyof P as K extends There ? K : never]: Shape<P[K], Root, Inside<V>>;
} & {
  -readonly [K in keyof P as K extends There ? never : K]?: Shape<P[K], Root, Inside<V>>;
};

type Present<S, P, V extends View> =
  | (V extends 'dryrun' ? never : Required<S>)
  | (V extends 'sent' ? never : Defaulted<P>);
type Required<S> = S extends { required: readonly (infer Name)[] }
  ? string extends Name
    ? never
    : Name
  : never;
type Defaulted<P> = { [K in keyof P]: P[K] extends { default: unknown } ? K : never }[keyof P];

/** What is required here and declared elsewhere: in an alternative that says only `required`. */
type Undeclared<S, P, V extends View> = V extends 'dryrun'
  ? unknown
  : [Exclude<Required<S>, keyof P>] extends [never]
    ? unknown
    : { [K in Exclude<Required<S>, keyof P> & string]: NonNullable<unknown> | null };

type Open<S> = S extends { additionalProperties: false }
  ? unknown
  : S extends { additionalProperties: unknown } | { patternProperties: unknown }
    ? { [name: string]: unknown }
    : unknown;
