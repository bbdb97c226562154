import type { ConfigField } from '../../schemas/declared-helper.js';
import type { FieldProblem } from '../../schemas/field-problem.js';
import { didYouMean } from '../../schemas/nearest.js';
import { callError, told } from './call-error.js';

/** The configuration of a call, with its defaults. Throws `missing_config` for what the gateway would not start without. */
export function readConfig(
  given: Readonly<Record<string, string | undefined>>,
  fields: readonly ConfigField[],
): Readonly<Record<string, string>> {
  const names = fields.map(({ name }) => name);
  const unknown = Object.keys(given).filter((name) => !names.includes(name));
  const values = fields.flatMap((field): [string, string][] => {
    const value = given[field.name] || field.default;
    return value === undefined ? [] : [[field.name, value]];
  });
  const set = new Set(values.map(([name]) => name));
  const missing = fields.filter(({ name, required }) => required && !set.has(name));
  const details: FieldProblem[] = [
    ...missing.map(({ name, env }) => ({
      field: `config.${name}`,
      problem: `is required (${env}): call the helper with { config: { ${name}: '…' } }`,
    })),
    ...unknown.map((name) => ({
      field: `config.${name}`,
      problem: `is not declared${didYouMean(name, names)}`,
    })),
  ];
  if (details.length > 0) throw callError('missing_config', told(details), { details });
  return Object.freeze(Object.fromEntries(values));
}
