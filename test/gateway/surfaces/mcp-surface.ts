import type { CallToolResult } from '@modelcontextprotocol/server';
import { isObject } from '../../../schemas/json-schema.js';
import { failed, fileOf, type Outcome, type Surface } from './asked.js';

/** Calls a tool by its name. */
export type CallTool = (name: string, input: Record<string, unknown>) => Promise<CallToolResult | undefined>;

/** Tools of agents. Files are not sent, but named in parameters. */
export function mcpSurface(takes: 'url' | 'path', callTool: CallTool): Surface {
  return {
    takes,
    async call({ helper, given }) {
      const result = await callTool(helper.replaceAll('/', '_'), Object.fromEntries(given));
      return outcomeOf(result as CallToolResult);
    },
  };
}

function outcomeOf({ isError, structuredContent, content }: CallToolResult): Outcome {
  const [first] = content;
  if (isError && first?.type === 'text') {
    const [head = '', ...lines] = first.text.split('\n');
    // Whom to ask and when to come again stand elsewhere over HTTP.
    const problems = lines.filter((line) => !/^(?:Request|Try again) /.test(line));
    const [, code = '', message = ''] = /^(\w+): (.*)$/.exec(head) ?? [];
    return problems.length > 0 ? { code, message, problems } : failed({ code, message });
  }
  // What stands for a file is no data.
  if (isObject(structuredContent) && !('file' in structuredContent)) return { data: structuredContent };
  if (first?.type === 'text') return fileOf(Buffer.from(first.text));
  if (first?.type === 'image') return { file: first.data };
  if (first?.type === 'resource' && 'blob' in first.resource) return { file: first.resource.blob };
  throw new Error(`no result: ${JSON.stringify(content)}`);
}
