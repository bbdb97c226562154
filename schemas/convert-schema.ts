import { tryUrl } from './input/parse.js';
import {
  alternativeKeywords,
  asSchema,
  decodePointer,
  findTag,
  isObject,
  type JsonSchema,
  mapSubschemas,
  subschemas,
} from './json-schema.js';
import { toStandard } from './keywords/keywords.js';

/** The schemas of a document that others refer to. */
export type Components = ReturnType<typeof createComponents>;

/** Schemas of a document's own, none yet; they stand at `place` in it, a JSON pointer with its `#`. */
export function createComponents(place: string) {
  const schemas: Record<string, JsonSchema> = {};

  /** The `$ref` to a component, under this name or one like it, which is set later. */
  function reserve(wanted: string) {
    // What OpenAPI allows in a component's name.
    const plain = wanted.replace(/[^A-Za-z0-9._-]+/g, '_');
    let name = plain;
    for (let at = 2; Object.hasOwn(schemas, name); at += 1) name = `${plain}_${at}`;
    schemas[name] = {};
    const set = (schema: JsonSchema) => {
      schemas[name] = schema;
    };
    return { ref: `${place}/${name}`, set };
  }

  return {
    schemas: schemas as Readonly<typeof schemas>,
    reserve,
    /** Adds a component under this name or one like it; gives a reference to it. */
    add(name: string, schema: JsonSchema) {
      const { ref, set } = reserve(name);
      set(schema);
      return { $ref: ref };
    },
  };
}

/**
 * Converts `root`, a draft-07 schema of a plugin, and the schemas inside of it to plain JSON Schema 2020-12 for a document. Targets of
 * references, and alternatives that a property distinguishes, become components of the document, called `prefix` and a name.
 */
export function createConverter(
  root: JsonSchema,
  prefix: string,
  components: Components,
): (schema: JsonSchema) => JsonSchema {
  const targetOf = createReferences(root);
  const placed = new Map<unknown, string>();
  return convert;

  function convert(schema: JsonSchema): JsonSchema {
    const inner = mapSubschemas(schema, (found) => convert(found.schema));
    return referring(schema, draft2020Keywords(toStandard(alternatives(schema, inner))));
  }

  function referring(schema: JsonSchema, converted: JsonSchema): JsonSchema {
    const target = targetOf(schema);
    if (target === undefined) return converted;
    const { $ref: _, ...others } = converted;
    if (!isObject(target.schema)) return target.schema === false ? { ...others, not: {} } : others;
    return { ...others, $ref: place(target.schema, target.name) };
  }

  function place(schema: JsonSchema, name: string): string {
    const known = placed.get(schema);
    if (known !== undefined) return known;
    // Reserved before it is made, because it may refer to itself.
    const { ref, set } = components.reserve(`${prefix}.${name}`);
    placed.set(schema, ref);
    set(convert(schema));
    return ref;
  }

  /**
   * `inner` is the same schema with its inside converted. Alternatives that a property with one text each distinguishes get OpenAPI's
   * `discriminator`, for which each has to be a component. It demands nothing that the alternatives do not.
   */
  function alternatives(schema: JsonSchema, inner: JsonSchema): JsonSchema {
    const { discriminator: _, ...plain } = inner;
    const keyword = alternativeKeywords.find((each) => Array.isArray(schema[each]));
    if (keyword === undefined) return plain;
    const branches = (schema[keyword] as unknown[]).map(asSchema);
    const tag = findTag(branches, schema, root);
    if (tag === undefined || !tag.values.flat().every((value) => typeof value === 'string')) return plain;
    const refs = branches.map((branch, at) => {
      if (branch.$ref === undefined) return place(branch, `${tag.name}.${tag.values[at]?.[0]}`);
      const target = targetOf(branch);
      return target && isObject(target.schema) ? place(target.schema, target.name) : undefined;
    });
    if (refs.includes(undefined)) return plain;
    const mapping = tag.values.flatMap((values, at) => values.map((value) => [String(value), refs[at]]));
    return {
      ...plain,
      [keyword]: refs.map(($ref) => ({ $ref })),
      discriminator: { propertyName: tag.name, mapping: Object.fromEntries(mapping) },
    };
  }
}

/** What names or holds schemas for references: these become components. */
const droppedKeywords = ['$id', 'id', '$schema', 'definitions', '$defs'];

/**
 * The keywords of a draft-07 schema as those of 2020-12 that say the same: tuples, and what depends on a property. The schemas
 * inside of it are left as they are.
 */
function draft2020Keywords(schema: JsonSchema): JsonSchema {
  const { items, additionalItems, dependencies, ...rest } = schema;
  for (const keyword of droppedKeywords) delete rest[keyword];
  return { ...rest, ...itemsOf(items, additionalItems), ...dependenciesOf(dependencies, rest) };
}

/** Beside one schema for all items, or none, draft-07 does not look at `additionalItems`. */
function itemsOf(items: unknown, additionalItems: unknown): JsonSchema {
  if (!Array.isArray(items)) return items === undefined ? {} : { items };
  return { prefixItems: items, ...(additionalItems === undefined ? {} : { items: additionalItems }) };
}

function dependenciesOf(
  dependencies: unknown,
  { dependentRequired, dependentSchemas }: JsonSchema,
): JsonSchema {
  const all = Object.entries(asSchema(dependencies));
  const names = all.filter(([, each]) => Array.isArray(each));
  const schemas = all.filter(([, each]) => !Array.isArray(each));
  const united = (before: unknown, more: typeof all) => ({
    ...asSchema(before),
    ...Object.fromEntries(more),
  });
  return {
    ...(names.length > 0 && { dependentRequired: united(dependentRequired, names) }),
    ...(schemas.length > 0 && { dependentSchemas: united(dependentSchemas, schemas) }),
  };
}

/** What a `$ref` leads to, and a name for it. */
type Target = { schema: unknown; name: string };

/** Against it relative addresses are resolved, where a schema has none; it is never fetched. */
const baseAddress = 'https://schema.invalid/';

/**
 * Finds what the references inside of `root` lead to, as draft-07 says: by pointers, by `$id`, and by an `$id` that is a
 * fragment. The returned function expects the schema with the `$ref`, one of `root`'s own objects.
 */
function createReferences(root: JsonSchema): (schema: JsonSchema) => Target | undefined {
  const bases = new Map<JsonSchema, string>();
  const named = new Map<string, JsonSchema>([[baseAddress, root]]);
  visit(root, baseAddress);

  function visit(schema: JsonSchema, around: string): void {
    const { $id } = schema;
    const own = typeof $id === 'string' && schema !== root ? tryUrl($id, around)?.href : undefined;
    if (own !== undefined) named.set(own.replace(/#$/, ''), schema);
    const base = own === undefined || own.includes('#') ? around : own;
    bases.set(schema, base);
    for (const { schema: inner } of subschemas(schema)) visit(inner, base);
  }

  return function targetOf(schema) {
    if (typeof schema.$ref !== 'string') return undefined;
    const full = tryUrl(schema.$ref, bases.get(schema) ?? baseAddress)?.href;
    if (full === undefined) return undefined;
    const [address = '', fragment = ''] = full.split('#');
    const whole = named.get(address);
    const lastSegment = () => address.slice(address.lastIndexOf('/') + 1) || 'schema';
    if (fragment === '') return whole && { schema: whole, name: lastSegment() };
    if (!fragment.startsWith('/')) {
      const found = named.get(full);
      return found && { schema: found, name: fragment };
    }
    const pointer = fragment.slice(1).split('/');
    const tokens = pointer.map((token) => decodePointer(token) ?? token);
    return whole && { schema: followPointer(whole, tokens), name: targetName(tokens) };
  };
}

function followPointer(schema: JsonSchema, tokens: readonly string[]): unknown {
  return tokens.reduce<unknown>((found, token) => {
    if (Array.isArray(found)) return found[Number(token)];
    return isObject(found) && Object.hasOwn(found, token) ? found[token] : undefined;
  }, schema);
}

/** A definition is called by its name, another part by its path. */
function targetName(tokens: readonly string[]): string {
  const [first = '', name = ''] = tokens;
  return tokens.length === 2 && ['definitions', '$defs'].includes(first) ? name : tokens.join('.');
}
