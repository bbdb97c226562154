import { quote } from '../../schemas/quote.js';

/** The operands of `keys issue`: whose key it is, and scopes that stand behind `--scope` without one of their own. */
export type IssueOperands = { tenant: string; scopes: string[] } | { problem: string };

/**
 * Tells a tenant's name from scopes, in any order. `--scope` takes one value, so that it never swallows the tenant; those that
 * follow it arrive here. A helper's id has a slash, which no name has; an id without one needs its own `--scope`.
 */
export function splitOperands(operands: readonly string[], hasScopes: boolean): IssueOperands {
  const scopes = hasScopes ? operands.filter((each) => each.includes('/')) : [];
  const tenants = operands.filter((each) => !scopes.includes(each));
  const [tenant] = tenants;
  if (tenant === undefined) return { problem: "missing required argument 'tenant'" };
  if (tenants.length === 1) return { tenant, scopes };
  const hint = hasScopes ? '; give each scope a --scope of its own, or put commas between them' : '';
  return {
    problem: `too many arguments for 'issue': one tenant is wanted, but there are ${tenants.map(quote).join(', ')}${hint}`,
  };
}
