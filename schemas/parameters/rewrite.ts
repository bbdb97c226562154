import {
  alternativeKeywords,
  asSchema,
  type Definition,
  definitionAt,
  escapePointer,
  findTag,
  followReference,
  isObject,
  type JsonSchema,
  localDefinition,
  mapSubschemas,
  typesOf,
} from '../json-schema.js';

/** What is inside of these stays as it is: they ask about a value, or demand something of it on a condition. */
const conditionKeywords = 'not if then else contains propertyNames dependencies dependentSchemas'.split(' ');
const annotations = ['$ref', '$comment', 'title', 'description', 'default', 'examples'];

/**
 * The schema with its nested objects closed as the parameters themselves are: an object that declares `properties`, and neither
 * `additionalProperties` nor `patternProperties`, refuses undeclared names. Declarations in `allOf`, a `$ref` and `if` count too;
 * each alternative of `anyOf` and `oneOf` is closed by itself. Because draft-07 has no `unevaluatedProperties`, each `properties`
 * gets the names that are declared beside it.
 */
export function closeNested(root: JsonSchema): JsonSchema {
  const definitions = createDefinitions(root);
  return definitions.addTo(closeObject(root, new Set()));

  /** `others` are the object's properties that are declared elsewhere. */
  function closeObject(schema: JsonSchema, others: Names): JsonSchema {
    if (others.size === 0 && isReference(schema)) return schema;
    const leavesOpen = declaredNames(schema, root, () => false) === undefined;
    return closePart(
      schema,
      withOthers(() => true),
    );

    /** All names that the object may have, with those of the selected alternatives. */
    function withOthers(includes: (alternatives: unknown) => boolean): Names | undefined {
      const names = declaredNames(schema, root, includes);
      return names && new Set([...others, ...names]);
    }

    /** `names` are all that the object may have; undefined where the schema decides that itself, or leaves it to an alternative. */
    function closePart(part: JsonSchema, names: Names | undefined): JsonSchema {
      const closed = mapSubschemas(part, ({ keyword, schema: inner }) => {
        if (conditionKeywords.includes(keyword)) return definitions.asWritten(inner);
        if (keyword === 'allOf') return closePart(inner, names);
        return alternativeKeywords.includes(keyword)
          ? closeAlternative(inner, part[keyword])
          : closeObject(inner, new Set());
      });
      return closeReference(closeHere(closed, names), names);
    }

    function closeAlternative(branch: JsonSchema, alternatives: unknown): JsonSchema {
      const beside = withOthers((each) => each !== alternatives);
      return leavesOpen || beside === undefined ? closePart(branch, undefined) : closeObject(branch, beside);
    }

    function closeReference(part: JsonSchema, names: Names | undefined): JsonSchema {
      const to = localDefinition(part);
      if (to === undefined) return part;
      const key = names === undefined ? 'open' : JSON.stringify([...names].sort());
      return { ...part, $ref: definitions.variant(to, key, (definition) => closePart(definition, names)) };
    }
  }
}

function isReference(schema: JsonSchema): boolean {
  return schema.$ref !== undefined && Object.keys(schema).every((key) => annotations.includes(key));
}

function closeHere(schema: JsonSchema, names: Names | undefined): JsonSchema {
  if (names === undefined || !isObject(schema.properties)) return schema;
  const known = Object.fromEntries([...names].map((name) => [name, true]));
  return { ...schema, properties: { ...known, ...asSchema(schema.properties) }, additionalProperties: false };
}

/** With these a schema decides itself what else an object may have. */
const deciding = ['additionalProperties', 'patternProperties', 'unevaluatedProperties'];
const deepest = 32;

type Names = ReadonlySet<string>;

/**
 * The names of the properties that a schema declares for its object: directly, in `allOf`, `if`, `dependencies`, behind a `$ref`,
 * and in the alternatives that `includes` selects. Undefined where one of these decides itself which others there may be, or cannot
 * be followed.
 */
function declaredNames(
  schema: JsonSchema,
  root: JsonSchema,
  includes: (alternatives: unknown[]) => boolean,
): Names | undefined {
  const names = new Set<string>();
  return gather(schema, 0) ? names : undefined;

  function gather(part: JsonSchema, depth: number): boolean {
    if (depth > deepest || deciding.some((keyword) => part[keyword] !== undefined)) return false;
    for (const name of Object.keys(asSchema(part.properties))) names.add(name);
    if (part.$ref !== undefined) {
      const to = localDefinition(part);
      if (to === undefined || !gather(definitionAt(root, to), depth + 1)) return false;
    }
    return partsOf(part).every((each) => gather(each, depth + 1));
  }

  function partsOf(part: JsonSchema): JsonSchema[] {
    const {
      allOf,
      anyOf,
      oneOf,
      if: condition,
      then,
      else: otherwise,
      dependencies,
      dependentSchemas,
    } = part;
    const selected = [anyOf, oneOf].filter((each) => Array.isArray(each) && includes(each));
    const lists: unknown[] = [allOf, ...selected, condition, then, otherwise].flat();
    const named = [dependencies, dependentSchemas].flatMap((each) => Object.values(asSchema(each)));
    return [...lists, ...named].filter(isObject);
  }
}

/** A schema's definitions and variants of them. */
function createDefinitions(root: JsonSchema) {
  const variants = new Map<string, { place: Definition; schema: JsonSchema }>();

  /** The `$ref` to a variant of a definition, which is made once for each key. */
  function variant(of: Definition, key: string, make: (definition: JsonSchema) => JsonSchema): string {
    const id = JSON.stringify([of.keyword, of.name, key]);
    let made = variants.get(id);
    if (made === undefined) {
      made = { place: { keyword: of.keyword, name: freeName(of) }, schema: {} };
      // Registered before it is made, because it may refer to itself.
      variants.set(id, made);
      const { $id: _, ...definition } = definitionAt(root, of);
      made.schema = make(definition);
    }
    return referenceTo(made.place);
  }

  function freeName({ keyword, name }: Definition): string {
    let free = `${name} (${variants.size + 1})`;
    while (Object.hasOwn(asSchema(root[keyword]), free)) free += '+';
    return free;
  }

  /** The schema with references to the definitions as they were written. */
  function asWritten(schema: JsonSchema): JsonSchema {
    const copy = mapSubschemas(schema, (found) => asWritten(found.schema));
    const to = localDefinition(schema);
    return to === undefined ? copy : { ...copy, $ref: variant(to, 'as written', asWritten) };
  }

  return {
    variant,
    asWritten,
    /** The schema with all variants among its definitions. */
    addTo(schema: JsonSchema): JsonSchema {
      const whole = { ...schema };
      for (const { place, schema: made } of variants.values()) {
        whole[place.keyword] = { ...asSchema(whole[place.keyword]), [place.name]: made };
      }
      return whole;
    },
  };
}

/** The `$ref` to a definition. */
export function referenceTo({ keyword, name }: Definition): string {
  return `#/${keyword}/${encodeURIComponent(escapePointer(name))}`;
}

const demandKeywords = ['required', 'minProperties', 'dependentRequired', 'dependencies'];

/**
 * The schema of a parameter object for dry runs: nothing is required, at the top or in an alternative; what is there is validated
 * as usual. `if` and `not` stay, because a `required` in them asks whether something is given and does not demand it.
 */
export function liftRequired(schema: JsonSchema): JsonSchema {
  const lifted: JsonSchema = { ...schema };
  for (const keyword of demandKeywords) delete lifted[keyword];
  for (const keyword of ['allOf', 'anyOf']) {
    if (!Array.isArray(lifted[keyword])) continue;
    const branches = liftEach(lifted[keyword]);
    if (branches) lifted[keyword] = branches;
    else delete lifted[keyword];
  }
  for (const keyword of ['then', 'else']) {
    if (isObject(lifted[keyword])) lifted[keyword] = liftRequired(lifted[keyword]);
  }
  if (Array.isArray(lifted.oneOf)) {
    // Alternatives that differ only in what they require all fit once nothing is required: not "exactly one" any more.
    const branches = liftEach(lifted.oneOf);
    const others = Array.isArray(lifted.allOf) ? lifted.allOf : [];
    if (branches) lifted.allOf = [...others, { anyOf: branches }];
    delete lifted.oneOf;
  }
  return lifted;
}

/** Undefined where they only demanded something: tools consider alternatives that accept anything a mistake. */
function liftEach(schemas: readonly unknown[]): JsonSchema[] | undefined {
  const lifted = schemas.map((each) => liftRequired(asSchema(each)));
  return lifted.some((each) => Object.keys(each).length > 0) ? lifted : undefined;
}

/**
 * The schema with ajv's `discriminator` wherever a property with a different text distinguishes the alternatives. Only the one that
 * is meant is validated then, so that no other complains or writes its own normal form. It accepts and refuses the same as before.
 */
export function tagAlternatives(root: JsonSchema): JsonSchema {
  return tagged(root, root);
}

function tagged(untagged: JsonSchema, root: JsonSchema): JsonSchema {
  const schema = mapSubschemas(untagged, (found) => tagged(found.schema, root));
  if (schema.discriminator !== undefined || (schema.oneOf !== undefined && schema.anyOf !== undefined)) {
    return schema;
  }
  const { anyOf, oneOf = anyOf, ...rest } = schema;
  if (!Array.isArray(oneOf) || !oneOf.every((each) => isReachable(asSchema(each), root))) return schema;
  const isObjects = (each: unknown) => typesOf(followReference(asSchema(each), root)).join() === 'object';
  if (schema.type !== 'object' && !(schema.type === undefined && oneOf.every(isObjects))) return schema;
  const tag = findTag(oneOf, schema, root);
  const values = tag?.values.flat() ?? [];
  if (tag === undefined || !values.every(isText)) return schema;
  const demand = { required: [tag.name], properties: { [tag.name]: { enum: values } } };
  return {
    ...rest,
    type: 'object',
    oneOf,
    discriminator: { propertyName: tag.name },
    allOf: [...(Array.isArray(rest.allOf) ? rest.allOf : []), demand],
  };
}

/** Whether ajv accepts it as a tag's value: it stores them as keys of an object. */
function isText(value: unknown): boolean {
  return typeof value === 'string' && value !== '' && !(value in Object.prototype);
}

/** Whether ajv finds the tag: in the alternative itself, or one reference away. */
function isReachable(branch: JsonSchema, root: JsonSchema): boolean {
  if (branch.$ref === undefined) return true;
  const to = localDefinition(branch);
  if (to === undefined || Object.keys(branch).length > 1) return false;
  return definitionAt(root, to).$ref === undefined;
}
