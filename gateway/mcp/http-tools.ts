import type { Answer } from '../../pool/answer.js';
import { prepareErrorAnswer } from '../http/envelope.js';
import { scopeAllows } from '../keys/model.js';
import type { GivenCall } from '../pipeline/pipelines.js';
import { noUploads } from '../pipeline/read-input.js';
import type { ReportError } from '../pipeline/respond.js';
import type { CallContext, Caller, CallState } from '../pipeline/stage.js';
import type { Helper, Registry } from '../plugins/registry.js';
import { errorResult, type FullResult, previewRules, toolResult } from './tool-result.js';
import type { Toolbox } from './tool-server.js';
import { type HelperTool, toolsOf } from './tools.js';

/** Whose tools they are, and the request that asks for them. */
interface Requester {
  ctx: CallContext;
  state: CallState;
  caller: Caller;
}

export interface HttpTools {
  /** Whether there is a tool of this name, for any caller. */
  has(name: string): boolean;
  for(requester: Requester): Toolbox;
}

const encoder = new TextEncoder();

interface HttpToolsOptions {
  /** The gateway's address as customers see it. */
  apiUrl: string | undefined;
  /** Gives the error that the caller may see. */
  reportError: ReportError;
}

/** The helpers as tools, each with its own stages behind it. */
export function createHttpTools(
  registry: Registry,
  stagesOf: (helper: Helper) => (call: GivenCall) => Promise<Answer>,
  { apiUrl, reportError }: HttpToolsOptions,
): HttpTools {
  let made: ReadonlyMap<string, RunnableTool & Pick<HelperTool, 'definition'>> | undefined;

  /** Made when an agent first asks: most gateways have none. */
  function tools() {
    made ??= new Map(
      [...toolsOf(registry)].map(([name, { helper, definition }]) => [
        name,
        { helper, definition, run: stagesOf(helper) },
      ]),
    );
    return made;
  }

  return {
    has: (name) => tools().has(name),
    for: (requester) => ({
      list: () =>
        [...tools().values()]
          .filter(({ helper }) => scopeAllows(requester.caller.scopes, helper.id))
          .map(({ definition }) => definition),
      call(name, input) {
        const tool = tools().get(name);
        if (tool) return call(tool, input, requester);
        requester.state.code = 'not_found';
        return undefined;
      },
    }),
  };

  async function call({ helper, run }: RunnableTool, input: string, { ctx, state, caller }: Requester) {
    state.helper = helper;
    const shown = previewRules();
    const text = { kind: 'json', bytes: encoder.encode(input) } as const;
    const query = { values: new Map(), problems: [] };
    try {
      const given = { state, caller, bodyBytes: 0, query, text, uploads: noUploads, shown };
      const answer = await run(given);
      // A link is a GET, which a helper with effects refuses.
      const whole = () =>
        helper.declaration.effects
          ? linkTo(undefined)
          : linkTo(callUrl(apiUrl ?? `http://${ctx.get('host')}`, helper.id, input));
      return await toolResult({ answer, helper, whole, preview: shown.preview });
    } catch (thrown) {
      const error = reportError(prepareErrorAnswer(ctx, thrown), ctx.req);
      // The HTTP answer succeeds; the error is the tool's result.
      state.cameTo = error.status;
      return errorResult(error, state.requestId);
    }
  }
}

interface RunnableTool {
  helper: Helper;
  run: (call: GivenCall) => Promise<Answer>;
}

function linkTo(uri: string | undefined): FullResult {
  if (uri === undefined) return { words: 'The whole is to be had by the same call over HTTP, as a POST.' };
  return {
    uri,
    words: `The whole is at ${uri} and asks for an API key, which the user adds as the parameter ak or in the header Authorization: Bearer.`,
  };
}

/** Characters of a url that every client and proxy accepts. */
const longestUrl = 8000;
/** Characters of JSON that may come to one as short, each of six characters as `\u0061` is. */
const longestInput = longestUrl * 6;

/**
 * The address at which a GET gives the same answer as a tool's call with this JSON, without the key; undefined where the call does
 * not fit into one. Lists and objects are written as JSON, which a query may hold.
 */
function callUrl(base: string, service: string, input: string): string | undefined {
  if (input.length > longestInput) return undefined;
  const url = new URL(`/${service}`, base);
  for (const [name, value] of Object.entries(JSON.parse(input) as object)) {
    url.searchParams.append(name, typeof value === 'object' ? JSON.stringify(value) : String(value));
  }
  return url.href.length <= longestUrl ? url.href : undefined;
}
