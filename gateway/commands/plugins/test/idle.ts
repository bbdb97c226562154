import { asSchema, isObject, type JsonSchema } from '../../../../schemas/json-schema.js';
import { onlyWithOf } from '../../../../schemas/vocabulary/only-with.js';

/** The values without those that make no sense beside the others: what `onlyWith` refuses. */
export function withoutIdle(values: Record<string, unknown>, schema: JsonSchema): Record<string, unknown> {
  const properties = asSchema(schema.properties);
  const rules = onlyWithOf(schema);
  const isIdle = (name: string) =>
    rules.get(name)?.some(({ parameter, values: wanted }) => {
      const property = asSchema(properties[parameter]);
      const given = Object.hasOwn(values, parameter) ? values[parameter] : property.default;
      return !wanted.includes(normal(given, property));
    });
  return Object.fromEntries(Object.entries(values).filter(([name]) => !isIdle(name)));
}

/** A choice by its name; of other values each has one spelling here, or is told apart by nothing but it. */
function normal(value: unknown, { choice }: JsonSchema): unknown {
  if (!isObject(choice) || typeof value !== 'string') return value;
  const spelt = value.toLowerCase();
  const found = Object.entries(choice).find(([name, aliases]) =>
    [name, ...(aliases as string[])].some((each) => each.toLowerCase() === spelt),
  );
  return found?.[0];
}
