import type { Ajv } from 'ajv';
import { checkDeclaration } from '../../schemas/declaration.js';
import { type DeclaredHelper, describeDeclaration } from '../../schemas/declared-helper.js';
import { asSchema } from '../../schemas/json-schema.js';
import { compileOutput } from '../../schemas/output.js';
import { inputFaults } from '../../schemas/parameters/compile-schema.js';
import { compileParameters } from '../../schemas/parameters.js';
import type { Helper } from './registry.js';

/** Where a declaration was found. */
export type DeclaredAt = Pick<Helper, 'id' | 'file' | 'url'> & { shipped: boolean };

/** Makes a helper of a plugin's declaration, without its functions. Throws an `Error` with every reason why it is none. */
export function declareHelper(at: DeclaredAt, exported: unknown, ajv: Ajv): Helper {
  const { id, file, url, shipped } = at;
  // The package's own are checked by its tests.
  const declaration = shipped ? describeDeclaration(exported) : readDeclaration(exported, ajv);
  if (declaration.output && !shipped) compileOutput(ajv, declaration.output);
  const parameters = compileParameters(ajv, declaration, { checked: shipped });
  return { id, file, shipped, url, declaration, parameters };
}

function readDeclaration(exported: unknown, ajv: Ajv): DeclaredHelper {
  const reasons = checkDeclaration(exported);
  if (reasons.length === 0) return describeDeclaration(exported);
  throw new Error([...reasons, ...moreFaults(ajv, exported, reasons)].join('\n'));
}

/** The faults of the schema that a faulty declaration has besides, of no place that `told` has named. */
function moreFaults(ajv: Ajv, declaration: unknown, told: readonly string[]): string[] {
  const places = new Set(told.map(placeOf));
  return inputFaults(ajv, asSchema(asSchema(declaration).input)).filter(
    (fault) => !places.has(placeOf(fault)),
  );
}

function placeOf(fault: string): string {
  return fault.split(' ', 1)[0] ?? '';
}
