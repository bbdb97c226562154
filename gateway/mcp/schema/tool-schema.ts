import { asSchema, type JsonSchema } from '../../../schemas/json-schema.js';
import { closeNested } from '../../../schemas/parameters/close-nested.js';
import { describeFile } from '../../../schemas/parameters/gateway-parameters.js';
import type { Helper } from '../../helpers/registry.js';
import { fileFactsSchema } from './file-facts.js';
import { modernSchema } from './modern-schema.js';

/**
 * What a tool takes: the helper's parameters and the gateway's, those for files as urls or paths below `folder`, for nothing else
 * can be sent.
 */
export function inputSchema({ declaration, parameters }: Helper, folder?: string): JsonSchema {
  const { required = [], ...input } = withoutRootAlternatives(asSchema(declaration.input));
  const byUrl = new Map(declaration.files.map((file) => [file.parameter, file]));
  const properties = parameters.properties.map(({ name, schema }): [string, JsonSchema] => {
    const file = byUrl.get(name);
    return [name, file ? { ...schema, description: describeUrl(describeFile(file), folder) } : schema];
  });
  const files = declaration.files.filter((file) => file.required).map(({ parameter }) => parameter);
  const all = [...files, ...(Array.isArray(required) ? required : [])];
  const schema = {
    ...input,
    type: 'object',
    properties: Object.fromEntries(properties),
    ...(all.length > 0 ? { required: all } : {}),
    additionalProperties: false,
  };
  return modernSchema(closeNested(schema));
}

/**
 * A model's API refuses every tool where the schema of one has alternatives at its root. They say there which parameters go
 * together, never which there are: the helper judges by them all the same, and its errors tell.
 */
function withoutRootAlternatives(schema: JsonSchema): JsonSchema {
  const { $id: _, anyOf: _a, oneOf: _o, allOf: _l, ...plain } = schema;
  return plain;
}

/**
 * What a tool's structured content holds: the helper's data, what its dry run answers, or what stands for a file. The root says that
 * it is an object, as clients of the older protocol want.
 */
export function outputSchema({ id, declaration: { output, dryrun } }: Helper): JsonSchema {
  const { $defs, ...own } = modernSchema(asSchema(output));
  const alternatives = [own, ...rehearsed(id, dryrun), fileFactsSchema];
  return { type: 'object', ...($defs === undefined ? {} : { $defs }), anyOf: alternatives };
}

/** What a dry run answers, where that is something else than a call's answer. */
function rehearsed(id: string, dryrun: Helper['declaration']['dryrun']): JsonSchema[] {
  const any: JsonSchema = { type: 'object', description: 'What a dry run answers.' };
  if (dryrun === 'run') return [];
  if (dryrun === 'own') return [any];
  const operation = { const: id.slice(id.lastIndexOf('/') + 1) };
  return [{ ...any, properties: { operation }, required: ['operation'] }];
}

function describeUrl(description: string | undefined, folder: string | undefined): string {
  const what =
    folder === undefined
      ? 'Public https address that the file is fetched from.'
      : `Path of the file below ${folder}, or its public https address.`;
  return description === undefined ? what : `${description} ${what}`;
}
