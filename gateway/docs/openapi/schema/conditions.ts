import { asSchema, isObject, type JsonSchema, typesOf } from '../../../../schemas/json-schema.js';
import { type Condition, onlyWithOf } from '../../../../schemas/vocabulary/only-with.js';

/**
 * The schema of an input with its `onlyWith` as draft-07's `dependencies`: where a parameter is given, another has one of the values
 * that it goes with, and is given too where its default is none of these.
 */
export function conditioned(schema: JsonSchema): JsonSchema {
  const { onlyWith: _, ...plain } = schema;
  const rules = onlyWithOf(schema);
  if (rules.size === 0) return plain;
  const properties = asSchema(plain.properties);
  const more = Object.fromEntries(
    [...rules].map(([name, conditions]) => [name, demand(conditions, properties)]),
  );
  if (plain.dependencies === undefined) return { ...plain, dependencies: more };
  const others = Array.isArray(plain.allOf) ? plain.allOf : [];
  return { ...plain, allOf: [...others, { dependencies: more }] };
}

function demand(conditions: readonly Condition[], properties: JsonSchema): JsonSchema {
  const missing = conditions.filter(
    ({ parameter, values }) => !values.includes(asSchema(properties[parameter]).default),
  );
  const values = conditions.map((each) => [
    each.parameter,
    oneOf(each, asSchema(properties[each.parameter])),
  ]);
  return {
    properties: Object.fromEntries(values),
    ...(missing.length > 0 ? { required: missing.map(({ parameter }) => parameter) } : {}),
  };
}

/** One of these values in whatever spelling; of what has other normal forms, such as a colour, nothing can be said. */
function oneOf(
  { values }: Condition,
  { choice, color, measure, fraction, ...plain }: JsonSchema,
): JsonSchema {
  if (isObject(choice)) {
    const chosen = Object.entries(choice).filter(([name]) => values.includes(name));
    return { choice: Object.fromEntries(chosen) };
  }
  if (color !== undefined || measure !== undefined || fraction !== undefined) return {};
  return typesOf(plain).length === 0 ? {} : { enum: values };
}
