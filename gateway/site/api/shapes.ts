/** The cursor of another page. */
export const nextSchema = {
  type: ['string', 'integer', 'null'],
  description: 'Null where there is no such page.',
};

export const stringSchema = { type: 'string' } as const;
export const countSchema = { type: 'integer', minimum: 0 } as const;
export const timeSchema = { type: 'string', format: 'date-time' } as const;
export const nullableTime = { type: ['string', 'null'], format: 'date-time' } as const;
export const nullableText = { type: ['string', 'null'] } as const;
export const limit = {
  type: ['number', 'null'],
  description: "Null is the plan's, else the gateway's default.",
} as const;
export const scopesSchema = {
  type: ['array', 'null'],
  items: stringSchema,
  description: 'Null is every helper.',
};

/** An object with exactly these properties. */
export function shape(properties: Record<string, object>, optional: readonly string[] = []) {
  const required = Object.keys(properties).filter((name) => !optional.includes(name));
  return { type: 'object', properties, required, additionalProperties: false };
}

export const described = (schema: object, description: string) => ({ ...schema, description });

/** The same schema for properties of these names. */
export function all(schema: object, ...names: string[]): Record<string, object> {
  return Object.fromEntries(names.map((name) => [name, schema]));
}

export const listOf = (items: object) => ({ type: 'array', items });

/** A reference to one of the shapes that the document lists by name. */
export function ref(name: string): { $ref: string } {
  return { $ref: `#/components/schemas/${name}` };
}
