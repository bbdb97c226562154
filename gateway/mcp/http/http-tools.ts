import type { Answer } from '../../../pool/answer.js';
import type { Now } from '../../after.js';
import type { LiveRegistry } from '../../helpers/live-registry.js';
import type { Helper } from '../../helpers/registry.js';
import { prepareErrorAnswer } from '../../http/error-answer.js';
import { scopeAllows } from '../../keys/scopes.js';
import type { GivenCall } from '../../pipeline/given-call.js';
import { noUploads } from '../../pipeline/read-input.js';
import type { FaultTeller } from '../../pipeline/respond.js';
import type { CallContext, Caller, CallState } from '../../pipeline/state.js';
import { underWay } from '../../pipeline/under-way.js';
import type { Shown } from '../../pipeline/with-preview.js';
import { callUrl } from '../call-url.js';
import { toBeShown } from '../sizes.js';
import { errorResult } from '../tool-error.js';
import { toolResult, type Whole } from '../tool-result.js';
import type { Toolbox } from '../tool-server.js';
import { type HelperTool, toolsOf } from '../tools.js';

/** A tool's call as its helper's stages get it. */
export interface ToolCall extends Omit<GivenCall, 'limits'> {
  readonly shown: Shown;
}

/** Whose tools they are, and the request that asks for them. */
export interface Asker {
  ctx: CallContext;
  state: CallState;
  caller: Caller;
}

export interface HttpTools {
  /** Whether there is a tool of this name, whoever may call it. */
  has(name: string): boolean;
  for(asker: Asker): Toolbox;
}

const encoder = new TextEncoder();

export interface HttpToolsOptions {
  /** The gateway's address as customers see it. */
  apiUrl: string | undefined;
  /** Makes of an error what its caller may know. */
  tell: FaultTeller;
}

/** The helpers as tools, each with its own stages behind it. */
export function createHttpTools(
  registry: LiveRegistry,
  stagesOf: (helper: Helper) => (call: ToolCall) => Now<Answer>,
  { apiUrl, tell }: HttpToolsOptions,
): HttpTools {
  // Looked at when a tool is called and not before: from then on its version's threads stay for it.
  let made: ReturnType<typeof asTheyAre> | undefined;
  registry.watch(() => {
    made = undefined;
  });

  function tools() {
    made ??= asTheyAre();
    return made;
  }

  function asTheyAre(): ReadonlyMap<string, RunnableTool & Pick<HelperTool, 'definition'>> {
    return new Map(
      [...toolsOf(registry)].map(([name, { helper, definition }]) => [
        name,
        { helper, definition, run: stagesOf(helper) },
      ]),
    );
  }

  return {
    has: (name) => tools().has(name),
    for: (asker) => ({
      list: () =>
        [...tools().values()]
          .filter(({ helper }) => scopeAllows(asker.caller.scopes, helper.id))
          .map(({ definition }) => definition),
      call(name, input) {
        const tool = tools().get(name);
        if (tool) return call(tool, input, asker);
        asker.state.code = 'not_found';
        return undefined;
      },
    }),
  };

  async function call({ helper, run }: RunnableTool, input: string, asker: Asker) {
    const { ctx, state, caller } = asker;
    state.helper = helper;
    const shown = toBeShown();
    const text = { kind: 'json', bytes: encoder.encode(input) } as const;
    const query = { values: new Map(), problems: [] };
    try {
      const given = { state, caller, bodyBytes: 0, query, text, uploads: noUploads, shown };
      const answer = await underWay(helper, () => run(given));
      // A link is a GET, which a helper with effects does not take.
      const whole = () =>
        helper.declaration.effects
          ? linkTo(undefined)
          : linkTo(callUrl(apiUrl ?? `http://${ctx.get('host')}`, helper.id, input));
      return await toolResult({ answer, helper, whole, preview: shown.preview });
    } catch (thrown) {
      const error = tell(prepareErrorAnswer(ctx, thrown), ctx.req);
      // The answer itself is a success, for the protocol: it is the tool that says what went wrong.
      state.cameTo = error.status;
      return errorResult(error, state.requestId);
    }
  }
}

interface RunnableTool {
  helper: Helper;
  run: (call: ToolCall) => Now<Answer>;
}

function linkTo(uri: string | undefined): Whole {
  if (uri === undefined) return { words: 'The whole is to be had by the same call over HTTP, as a POST.' };
  return {
    uri,
    words: `The whole is at ${uri} and asks for an API key, which the user adds as the parameter ak or in the header Authorization: Bearer.`,
  };
}
