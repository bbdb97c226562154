import type { FileField, HelperExample } from '../../../schemas/declared-helper.js';
import { asSchema, type JsonSchema } from '../../../schemas/json-schema.js';
import { closeNested } from '../../../schemas/parameters/close-nested.js';
import { liftRequired } from '../../../schemas/parameters/lift-required.js';
import type { Helper } from '../../helpers/registry.js';
import { componentPrefix } from './names.js';
import type { Components } from './schema/components.js';
import { conditioned } from './schema/conditions.js';
import { createConverter } from './schema/convert.js';

/** A file that may take the place of a parameter. */
export type StandIn = FileField & { insteadOf: string };

/** A helper's parameters as a document says them. */
export interface InputSchemas {
  /** Of each parameter alone. */
  properties: Readonly<Record<string, JsonSchema>>;
  /** All of them as one object, with what is required but for files. */
  whole: JsonSchema;
  /** Files that have to come, by a url or as an upload. */
  requiredFiles: readonly FileField[];
  /** Files in the place of a parameter: one of the two has to come. */
  standIns: readonly StandIn[];
  /** The same for a dry run where that lifts something: nothing has to be there. */
  rehearsal: JsonSchema | undefined;
}

/** Makes the schemas of a helper's parameters; what these refer to is put among the components. */
export function inputSchemas({ id, declaration, parameters }: Helper, components: Components): InputSchemas {
  const { $id: _, ...input } = declaration.input;
  const declared = Object.fromEntries(
    parameters.properties.map(({ name, schema }) => [name, shown(name, schema, declaration.examples)]),
  );
  const closed = closeNested({ ...input, properties: declared, additionalProperties: false });
  const convert = createConverter(closed, componentPrefix(id), components);
  const properties = Object.entries(asSchema(closed.properties));
  const requiredFiles = declaration.files.filter(({ required }) => required);
  const standIns = declaration.files.filter((file): file is StandIn => file.insteadOf !== undefined);
  const lifted = liftRequired(closed);
  const asksForFiles = requiredFiles.length > 0 || standIns.length > 0;
  const liftsSomething = asksForFiles || JSON.stringify(lifted) !== JSON.stringify(closed);
  return {
    properties: Object.fromEntries(properties.map(([name, schema]) => [name, convert(asSchema(schema))])),
    whole: convert(conditioned(closed)),
    requiredFiles,
    standIns,
    rehearsal:
      liftsSomething && declaration.dryrun !== 'run' ? asRehearsal(convert(conditioned(lifted))) : undefined,
  };
}

function asRehearsal(schema: JsonSchema): JsonSchema {
  const properties = asSchema(schema.properties);
  const { default: _, ...dryrun } = asSchema(properties.dryrun);
  return {
    ...schema,
    title: 'A dry run',
    required: ['dryrun'],
    properties: { ...properties, dryrun: { ...dryrun, const: true } },
  };
}

/** A schema with a value that pages can show and fill in, of the first example where it has one. */
function shown(name: string, schema: JsonSchema, [example]: readonly HelperExample[]): JsonSchema {
  if (name === 'dryrun') return { ...schema, default: false };
  const value = example?.input[name];
  return value === undefined || schema.examples !== undefined ? schema : { ...schema, examples: [value] };
}
