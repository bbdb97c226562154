import {
  asSchema,
  followReference,
  isObject,
  type JsonSchema,
  localDefinition,
  typesOf,
} from '../json-schema.js';

/** One form that a schema allows a value to have. */
export interface Form {
  type: string;
  /** Of a list: the schema of its items and where it stands, where a list can be written with commas. */
  item?: { schema: JsonSchema; pointer: string };
}

const deepest = 10;
const nested = ['anyOf', 'oneOf', 'allOf'];

/** Every form that a schema allows, through its alternatives and references; none where it says nothing of types. */
export function formsOf(schema: JsonSchema, root: JsonSchema, pointer: string): Form[] {
  return formsInside(schema, root, pointer, []);
}

/** `around` are the schemas of the items that this one stands for: a list may be one of such lists. */
function formsInside(
  schema: JsonSchema,
  root: JsonSchema,
  pointer: string,
  around: readonly JsonSchema[],
): Form[] {
  const forms: Form[] = [];
  gather(schema, pointer, 0);
  return forms;

  function gather(part: JsonSchema, place: string, depth: number): void {
    if (depth > deepest) return;
    const { anyOf: _, oneOf: __, allOf: ___, ...plain } = part;
    for (const type of typesOf(plain)) forms.push(type === 'array' ? listForm(part, place) : { type });
    for (const keyword of nested) {
      const branches = part[keyword];
      if (!Array.isArray(branches)) continue;
      branches.forEach((branch, at) => void gather(asSchema(branch), `${place}/${keyword}/${at}`, depth + 1));
    }
    const to = localDefinition(part);
    if (to !== undefined) {
      gather(asSchema(asSchema(root[to.keyword])[to.name]), String(part.$ref).slice(1), depth + 1);
    }
  }

  function listForm(part: JsonSchema, place: string): Form {
    const items = part.items === undefined ? {} : part.items;
    if (!isObject(items)) return { type: 'array' };
    const item = followReference(items, root);
    if (around.includes(item)) return { type: 'array' };
    const inner = formsInside(item, root, '', [...around, item]).map(({ type }) => type);
    if (inner.includes('object') || inner.includes('array')) return { type: 'array' };
    return { type: 'array', item: { schema: items, pointer: `${place}/items` } };
  }
}
