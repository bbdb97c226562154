import { asSchema, followReference, type JsonSchema } from './json-schema.js';

/** The property by whose value alternatives are told apart, as `kind` in `{kind: 'circle', …}` and `{kind: 'square', …}`. */
export interface Tag {
  name: string;
  /** The values of each alternative, by the order of the alternatives. */
  values: unknown[][];
}

/** The tag of the alternatives, where each demands another value of one property; `parent` is the schema around them. */
export function findTag(branches: readonly unknown[], parent: JsonSchema, root: JsonSchema): Tag | undefined {
  if (branches.length < 2) return undefined;
  const resolved = branches.map((branch) => followReference(asSchema(branch), root));
  for (const name of Object.keys(asSchema(resolved[0]?.properties))) {
    const values = resolved.map((branch) => valuesOf(asSchema(branch.properties), name));
    const all = values.flat();
    if (values.some((each) => each.length === 0) || new Set(all).size < all.length) continue;
    if (requires(parent, name) || resolved.every((branch) => requires(branch, name))) return { name, values };
  }
  return undefined;
}

function valuesOf(properties: JsonSchema, name: string): unknown[] {
  if (!Object.hasOwn(properties, name)) return [];
  const property = asSchema(properties[name]);
  const values = 'const' in property ? [property.const] : Array.isArray(property.enum) ? property.enum : [];
  return values.every((value) => typeof value !== 'object') ? values : [];
}

function requires({ required }: JsonSchema, name: string): boolean {
  return Array.isArray(required) && required.includes(name);
}
