import { hash } from 'node:crypto';
import type { Ajv } from 'ajv';
import { describeDeclaration, type HelperExample } from '../../../schemas/declared-helper.js';
import { compileParameters, type ParameterChecker } from '../../../schemas/parameters/parameters.js';
import { pictureOutput, pictureOutputRules } from '../../helper.js';
import { pipelineId } from '../paths.js';
import type { CallSteps, Helper, Registry } from '../registry.js';
import { readSteps, stepHelpers } from './steps.js';

/** Steps of a call at most. */
export const mostSteps = 10;

const { default: _, ...format } = pictureOutput.format;

/** The parameters of every call with steps, as a picture helper has them; without a default, because the last step may have its own. */
export const outputParameters = {
  format: { ...format, description: `${format.description} Without it, png, or what the last step says.` },
  quality: pictureOutput.quality,
} as const;

/** What the declarations of all helpers with steps have in common. */
export const stepsDeclaration = { source: 'image', dryrun: readSteps } as const;

const example: HelperExample = {
  summary: 'A square thumbnail with a frame',
  input: {
    steps: [
      { use: 'media/resize', width: 300, height: 300, fit: 'cover' },
      { use: 'media/add-border', width: 6, color: 'white' },
    ],
    format: 'webp',
  },
};

/** The helper that runs others on one picture; undefined where none of the registry can be a step. */
export function createPipeline(registry: Registry, ajv: Ajv): Helper | undefined {
  const ids = stepHelpers(registry).map(({ id }) => id);
  if (ids.length === 0) return undefined;
  const declaration = describeDeclaration({
    ...stepsDeclaration,
    summary: 'Runs several helpers on one image, one after the other.',
    description:
      'Takes a picture from `url` or from the multipart field `file`. Each of `steps` names a helper and its parameters, and works on the ' +
      'picture that the one before has made. The picture is downloaded, decoded and written once, as `format` and `quality` say. In a query ' +
      'or a form, `steps` is the text of the JSON list. With `dryrun` nothing is downloaded or drawn: the answer shows what each step would do.',
    input: {
      type: 'object',
      required: ['steps'],
      properties: {
        steps: {
          type: 'array',
          minItems: 1,
          maxItems: mostSteps,
          description:
            'What is done, in this order: the id of a helper as `use`, and its parameters beside it, without url, format and quality.',
          items: {
            type: 'object',
            required: ['use'],
            properties: { use: { type: 'string', enum: ids, description: 'The helper.' } },
            additionalProperties: true,
          },
        },
        ...outputParameters,
      },
      onlyWith: pictureOutputRules,
    },
    examples: readSteps(example.input.steps as unknown[], registry, { dryrun: false }).problems.length
      ? []
      : [example],
  });
  const parameters = compileParameters(ajv, declaration, { checked: true });
  return {
    id: pipelineId,
    file: '',
    shipped: true,
    url: '',
    declaration,
    version: hash('sha256', JSON.stringify(declaration), 'base64url'),
    parameters: { ...parameters, check: withSteps(parameters.check, registry) },
    // A dry run needs no picture, but all that a step needs: it tells what a call would be refused for.
    readSteps: ({ steps, format }) => ({
      ...(steps === undefined ? noSteps : readSteps(steps as unknown[], registry, { dryrun: false })),
      format: format as string | undefined,
    }),
  };
}

const noSteps: CallSteps = { steps: [], problems: [{ field: 'steps', problem: 'is required' }] };

/** Where the input is refused anyway, the problems of its steps are named too. */
function withSteps(check: ParameterChecker['check'], registry: Registry): ParameterChecker['check'] {
  return function checkWithSteps(given, options) {
    const checked = check(given, options);
    const { input, problems } = checked;
    const named = new Set(problems.map(({ field }) => field));
    if (named.size === 0 || named.has('steps') || !Array.isArray(input.steps)) return checked;
    const inSteps = readSteps(input.steps, registry, { ...options, dryrun: false }).problems;
    return { input, problems: [...problems, ...inSteps.filter(({ field }) => !named.has(field))] };
  };
}
