import { createHash } from 'node:crypto';
import type { Tool } from '@modelcontextprotocol/server';
import { createComponents, createConverter } from '../../schemas/convert-schema.js';
import type { FileField } from '../../schemas/declared-helper.js';
import { asSchema, isObject, type JsonSchema, mapSubschemas } from '../../schemas/json-schema.js';
import { askKeywords, withoutOwnKeywords } from '../../schemas/keywords/keywords.js';
import { describeFile } from '../../schemas/parameters/compile-schema.js';
import { closeNested } from '../../schemas/parameters/rewrite.js';
import type { Helper, Registry } from '../plugins/registry.js';
import { fileFactsSchema } from './tool-result.js';

/** A helper as a tool of agents. */
export interface HelperTool {
  helper: Helper;
  definition: Tool;
}

/** The tools of these helpers by their names, in the order of the helpers' ids. Files may be named by paths below `folder`, if any. */
export function toolsOf(registry: Registry, folder?: string): ReadonlyMap<string, HelperTool> {
  const helpers = [...registry.values()].sort((a, b) => (a.id < b.id ? -1 : 1));
  const names = toolNames(helpers.map(({ id }) => id));
  return new Map(
    helpers.map((helper) => {
      const name = names.get(helper.id) ?? helper.id;
      return [name, { helper, definition: define(helper, name, folder) }];
    }),
  );
}

function define(helper: Helper, name: string, folder: string | undefined): Tool {
  const { declaration } = helper;
  const { summary, description, files } = declaration;
  const parts = [summary, description, ...files.map((file) => describeUse(file, folder))];
  const title = titleOf(helper.id);
  return {
    name,
    title,
    description: parts.filter((part) => part !== undefined).join('\n\n'),
    inputSchema: inputSchema(helper, folder) as Tool['inputSchema'],
    ...(declaration.output ? { outputSchema: outputSchema(helper) as Tool['outputSchema'] } : {}),
    annotations: {
      title,
      // Any other helper answers and keeps nothing. What is left out counts as the worse for agents.
      ...(declaration.effects ? {} : { readOnlyHint: true, destructiveHint: false, idempotentHint: true }),
      openWorldHint: declaration.effects || files.length > 0 || declaration.config.length > 0,
    },
  };
}

/** `media/add-border` as `Add border`. */
function titleOf(id: string): string {
  const words = id.slice(id.lastIndexOf('/') + 1).replaceAll(/[-_.]+/g, ' ');
  return words.charAt(0).toUpperCase() + words.slice(1);
}

function describeUse({ parameter, kind, required, types }: FileField, folder: string | undefined): string {
  const what = `${kind === 'image' ? 'a picture' : 'a file'}${types ? ` (${types.join(', ')})` : ''}`;
  const accepts = `${required ? 'Takes' : 'May take'} ${what}: give its`;
  return folder === undefined
    ? `${accepts} public https address as \`${parameter}\`. Bytes and paths cannot be sent through this tool.`
    : `${accepts} path below ${folder}, or its public https address, as \`${parameter}\`.`;
}

/** Characters of a tool's name at most. */
const longestName = 128;

/**
 * The name of each helper's tool: its id with `_` for `/`. Two ids may come to the same one, as `a/b` and `a_b` do, or to one
 * that is too long: the first in order keeps the name, and the others have it with a digest of the id behind a dot, the same on
 * every gateway that serves these helpers.
 */
function toolNames(ids: readonly string[]): Map<string, string> {
  const names = new Map<string, string>();
  const used = new Set<string>();
  const assign = (id: string, name: string) => {
    if (names.has(id) || used.has(name) || name.length > longestName) return;
    names.set(id, name);
    used.add(name);
  };
  const plain = (id: string) => id.replaceAll('/', '_');
  for (const id of ids) assign(id, plain(id));
  for (const id of ids.filter((each) => !names.has(each))) {
    const digest = createHash('sha256').update(id).digest('hex');
    for (let length = 8; !names.has(id); length += 1) {
      const end = `.${digest.slice(0, length)}`;
      assign(id, plain(id).slice(0, longestName - end.length) + end);
    }
  }
  return names;
}

/** A tool's input: the helper's parameters and the gateway's. Files are urls or paths below `folder`: nothing else can be sent. */
function inputSchema({ declaration, parameters }: Helper, folder?: string): JsonSchema {
  // Models' APIs refuse all tools if one schema has alternatives at its root. They say which parameters go together, never which there
  // are: the helper still validates by them, and its errors say so.
  const { $id, anyOf, oneOf, allOf, required = [], ...input } = asSchema(declaration.input);
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
 * What a tool's structured content holds: the helper's data, what its dry run answers, or what stands for a file. The root says that
 * it is an object, as clients of the older protocol want.
 */
function outputSchema({ id, declaration: { output, dryrun } }: Helper): JsonSchema {
  const { $defs, ...own } = modernSchema(asSchema(output));
  const alternatives = [own, ...dryRunSchemas(id, dryrun), fileFactsSchema];
  return { type: 'object', ...($defs === undefined ? {} : { $defs }), anyOf: alternatives };
}

/** What a dry run answers, where that is something else than a call's answer. */
function dryRunSchemas(id: string, dryrun: Helper['declaration']['dryrun']): JsonSchema[] {
  const any: JsonSchema = { type: 'object', description: 'What a dry run answers.' };
  if (dryrun === 'run') return [];
  if (dryrun === 'own') return [any];
  const operation = { const: id.slice(id.lastIndexOf('/') + 1) };
  return [{ ...any, properties: { operation }, required: ['operation'] }];
}

function describeUrl(description: string | undefined, folder: string | undefined): string {
  const own = description === undefined ? '' : `${description} `;
  if (folder === undefined) return `${own}Public https address that the file is fetched from.`;
  return `${own}Path of the file below ${folder}, or its public https address.`;
}

/** A plugin's draft-07 schema as one of the dialect that agents read, 2020-12, whole in itself. */
function modernSchema(schema: JsonSchema): JsonSchema {
  const plain = plainKeywords(schema);
  const definitions = createComponents('#/$defs');
  const converted = withoutDiscriminator(createConverter(plain, 'of', definitions)(plain));
  const defs = Object.entries(definitions.schemas).map(([name, each]) => [name, withoutDiscriminator(each)]);
  return defs.length > 0 ? { ...converted, $defs: Object.fromEntries(defs) } : converted;
}

/** Only OpenAPI knows this keyword. */
function withoutDiscriminator(schema: JsonSchema): JsonSchema {
  const { discriminator: _, ...rest } = mapSubschemas(schema, (found) => withoutDiscriminator(found.schema));
  if (!Array.isArray(rest.prefixItems)) return rest;
  const items = rest.prefixItems.map((item) => (isObject(item) ? withoutDiscriminator(item) : item));
  return { ...rest, prefixItems: items };
}

/**
 * The schema and all inside of it in keywords that every client of agents reads: a choice as the list of its spellings, a colour
 * and what can be drawn as texts that their descriptions explain, a measure as a number or a text, and several types as `anyOf`, for
 * clients warn of a list of types. The helper validates by more than it says, and its errors name the rest.
 */
function plainKeywords(schema: JsonSchema): JsonSchema {
  const inner = mapSubschemas(schema, (found) => plainKeywords(found.schema));
  const { nullable, type, ...plain } = withoutOwnKeywords(inner);
  const types = [type].flat().filter((each) => each !== undefined);
  const takesNull = types.includes('null') || (nullable === true && types.length > 0);
  const { anyOf, ...more } = askKeywords(inner, (keyword, setting) => keyword.brief?.(setting)) ?? {};
  if (Array.isArray(anyOf)) return withBranches(plain, [...anyOf, ...(takesNull ? [{ type: 'null' }] : [])]);
  const chosen = { ...plain, ...more };
  if (nullable !== true || types.length === 0) return withTypes(chosen, types);
  const all = [...new Set([...types, 'null'])];
  return withTypes(Array.isArray(chosen.enum) ? { ...chosen, enum: [...chosen.enum, null] } : chosen, all);
}

function withTypes(schema: JsonSchema, types: readonly unknown[]): JsonSchema {
  return types.length === 0
    ? schema
    : withBranches(
        schema,
        types.map((type) => ({ type })),
      );
}

function withBranches(schema: JsonSchema, anyOf: readonly JsonSchema[]): JsonSchema {
  const [only] = anyOf;
  if (anyOf.length === 1) return { ...only, ...schema };
  if (schema.anyOf === undefined) return { anyOf, ...schema };
  return { ...schema, allOf: [...(Array.isArray(schema.allOf) ? schema.allOf : []), { anyOf }] };
}
