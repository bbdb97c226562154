import { GatewayError, inputError } from '../errors.js';
import { rotationSchema } from '../keys/schemas.js';

const longestGrace = rotationSchema.properties.grace_seconds.maximum / 86_400;

/** What a person typed for each field of the key administration, and what the command line takes beyond it. */
const typed: Readonly<Record<string, { as: string; hint?: string }>> = {
  name: { as: '<name>' },
  url: { as: '<url>' },
  id: { as: '<id>' },
  label: { as: '--label' },
  scopes: { as: '--scope' },
  expires_at: { as: '--expires', hint: 'a time from now such as 12h or 30d is taken too' },
  grace_seconds: { as: '--grace', hint: `the longest is ${longestGrace}d` },
};

/**
 * An error of the key administration with its fields named as they were typed: `--expires` for people, `expires` for programs.
 * Any other error stays as it is.
 */
export function asTyped(error: unknown, json: boolean): unknown {
  if (!(error instanceof GatewayError) || !error.details) return error;
  const details = error.details.map(({ field, problem }) => {
    const { as, hint } = typed[field] ?? { as: field };
    return {
      field: json ? as.replace(/[<>]|^--/g, '') : as,
      problem: hint === undefined ? problem : `${problem}; ${hint}`,
    };
  });
  if (error.code === 'invalid_input') return inputError(details, error);
  return new GatewayError(error.code, { message: error.message, details, cause: error });
}
