import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { BodyAnswer } from '../../pool/answer.js';
import { boundProblems } from '../../schemas/field-problem.js';
import { GatewayError, inputError, toGatewayError } from '../errors.js';
import type { MultipartLimits } from '../http/multipart.js';
import {
  limitsInForce,
  noKeyLimits,
  recipeId,
  type Tenant,
  type TenantLimits,
  weightInForce,
} from '../keys/model.js';
import type { EffectiveLimits, Limiter } from '../limits/limiter.js';
import { limit } from '../pipeline/limit.js';
import { createPipelines, type GivenCall, type PipelineParts } from '../pipeline/pipelines.js';
import { noUploads, requireSize } from '../pipeline/read-input.js';
import { type PreviewRequest, withPreview } from '../pipeline/run-helper.js';
import { CallState } from '../pipeline/stage.js';
import type { RecipeCompiler } from '../plugins/recipes/recipe.js';

interface PreviewParts extends Pick<PipelineParts, 'pool' | 'files' | 'imageLimits' | 'inline'> {
  compileRecipe: RecipeCompiler;
  limiter: Pick<Limiter, 'take'>;
  limitsOf: (own: TenantLimits) => EffectiveLimits;
  bodyLimits: MultipartLimits;
}

/** What a recipe, saved or not, is tried with. */
export interface RecipeTrial {
  tenant: Tenant;
  definition: object;
  /** The call's parameters; without a `url` it works on a sample picture. */
  input: Record<string, unknown>;
}

export type RecipePreview = ReturnType<typeof createRecipePreview>;

const sample = new URL(
  'gateway/docs/playground/assets/landscape.jpg',
  import.meta.resolve('helper-gateway/package.json'),
);
/** Of a picture in a page: a larger one is shown smaller. */
const mostBytes = 256 * 1024;

/** Runs a recipe in this process without a key, under the tenant's rate, quota and share of the workers. */
export function createRecipePreview(parts: PreviewParts) {
  const { pool, files, imageLimits, inline, limiter, limitsOf, compileRecipe } = parts;
  const pipelineOf = createPipelines<GivenCall>(
    { pool, files, imageLimits, inline },
    {
      limit: (helper) => limit(helper, limiter, limitsOf),
      read: () => requireSize(parts.bodyLimits),
      deliver: withPreview,
    },
  );

  /** Throws a `GatewayError` for whatever is wrong with the definition or the input. */
  return async function previewRecipe({ tenant, definition, input }: RecipeTrial): Promise<BodyAnswer> {
    const { helper, problems } = compileRecipe(recipeId('preview'), definition);
    if (!helper) throw inputError(boundProblems(problems));
    if (tenant.suspended_at !== null) throw new GatewayError('tenant_suspended');
    const shown: PreviewRequest = {
      needsPreview: ({ bytes }) => bytes.byteLength > mostBytes,
      maxBytes: mostBytes,
    };
    const file = { bytes: new Uint8Array(await readFile(sample)), type: 'image/jpeg' };
    const call: GivenCall = {
      state: new CallState(randomUUID()),
      bodyBytes: 0,
      caller: {
        tenant: { ...tenant, limits: limitsInForce(tenant), weight: weightInForce(tenant) },
        keyId: 'preview',
        keyLimits: noKeyLimits,
        scopes: null,
      },
      query: { values: new Map(), problems: [] },
      text: { kind: 'json', bytes: new TextEncoder().encode(JSON.stringify({ ...input, dryrun: false })) },
      uploads: input.url === undefined ? new Map([['file', file]]) : noUploads,
      shown,
    };
    try {
      const answer = await pipelineOf(helper)(call);
      if (answer.kind !== 'bytes') throw new Error('a recipe has answered without a picture');
      return shown.preview ?? answer;
    } catch (error) {
      throw toGatewayError(error);
    }
  };
}
