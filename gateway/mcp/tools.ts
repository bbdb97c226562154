import type { Tool } from '@modelcontextprotocol/server';
import type { FileField } from '../../schemas/declared-helper.js';
import type { Helper, Registry } from '../helpers/registry.js';
import { inputSchema, outputSchema } from './schema/tool-schema.js';
import { toolNames } from './tool-names.js';

/** A helper as a tool of agents. */
export interface HelperTool {
  helper: Helper;
  /** What agents are told of it. */
  definition: Tool;
}

/** The tools of these helpers by their names, in the order of the helpers' ids. Files may be named by paths below `folder`, if any. */
export function toolsOf(registry: Registry, folder?: string): ReadonlyMap<string, HelperTool> {
  const tools = new Map<string, HelperTool>();
  for (const [id, name] of [...toolNames(registry.keys())].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const helper = registry.get(id);
    if (helper) tools.set(name, { helper, definition: define(helper, name, folder) });
  }
  return tools;
}

function define(helper: Helper, name: string, folder: string | undefined): Tool {
  const { declaration } = helper;
  const title = titleOf(helper.id);
  return {
    name,
    title,
    description: describe(helper, folder),
    inputSchema: inputSchema(helper, folder) as Tool['inputSchema'],
    ...(declaration.output ? { outputSchema: outputSchema(helper) as Tool['outputSchema'] } : {}),
    annotations: {
      title,
      // Any other helper answers and keeps nothing. What is left out counts as the worse for agents.
      ...(declaration.effects ? {} : { readOnlyHint: true, destructiveHint: false, idempotentHint: true }),
      openWorldHint: declaration.effects || declaration.files.length > 0 || declaration.config.length > 0,
    },
  };
}

/** `media/add-border` as `Add border`. */
function titleOf(id: string): string {
  const words = id.slice(id.lastIndexOf('/') + 1).replaceAll(/[-_.]+/g, ' ');
  return words.charAt(0).toUpperCase() + words.slice(1);
}

function describe(
  { declaration: { summary, description, files } }: Helper,
  folder: string | undefined,
): string {
  const parts = [
    summary,
    ...(description === undefined ? [] : [description]),
    ...files.map((file) => describeTaking(file, folder)),
  ];
  return parts.join('\n\n');
}

function describeTaking({ parameter, kind, required, types }: FileField, folder: string | undefined): string {
  const what = `${kind === 'image' ? 'a picture' : 'a file'}${types ? ` (${types.join(', ')})` : ''}`;
  const takes = `${required ? 'Takes' : 'May take'} ${what}: give its`;
  return folder === undefined
    ? `${takes} public https address as \`${parameter}\`. Bytes and paths cannot be sent through this tool.`
    : `${takes} path below ${folder}, or its public https address, as \`${parameter}\`.`;
}
