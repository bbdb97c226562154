import type { JsonSchema } from '../../../schemas/json-schema.js';
import { formsOf } from '../../../schemas/parameters/forms.js';
import type { ParameterProperty } from '../../../schemas/parameters.js';
import type { Helper } from '../../helpers/registry.js';
import type { InputSchemas } from './input-schemas.js';

/** How a value is written in a query or a form: as it is, as a list with commas, or as JSON. */
export type Written = 'plain' | 'list' | 'json';

/** How a parameter's values are to be written. Where they can be written in several ways, as the least marked one. */
export function writtenAs(schema: JsonSchema, root: JsonSchema): Written {
  const forms = formsOf(schema, root, '');
  if (forms.length === 0 || !forms.every(({ type }) => type === 'array' || type === 'object')) return 'plain';
  return forms.every(({ item }) => item !== undefined) ? 'list' : 'json';
}

/** The parameters of a GET request. A query can not say that a dry run lifts what is required. */
export function queryParameters(
  { declaration, parameters }: Helper,
  { properties, requiredFiles }: InputSchemas,
): object[] {
  const [example] = declaration.examples;
  return parameters.properties.map((property) => {
    const { name } = property;
    const { description: _, ...schema } = properties[name] ?? {};
    const isFile = requiredFiles.some(({ parameter }) => parameter === name);
    return {
      name,
      in: 'query',
      required: property.required || isFile,
      description: describeParameter(property),
      ...inQuery(schema, writtenAs(property.schema, declaration.input), example?.input[name]),
    };
  });
}

/** What its author says of it, or what it takes. */
export function describeParameter({ schema, allowed }: ParameterProperty): string {
  if (typeof schema.description === 'string') return schema.description;
  return `${allowed.charAt(0).toUpperCase()}${allowed.slice(1)}.`;
}

function inQuery(schema: JsonSchema, written: Written, example: unknown): object {
  const shown = example === undefined ? {} : { example };
  if (written === 'json') return { content: { 'application/json': { schema, ...shown } } };
  if (written === 'list') return { style: 'form', explode: false, schema, ...shown };
  return { schema, ...shown };
}
