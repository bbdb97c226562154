/** The people of one tenant, by its id, or the operators, who are null. */
export type Group = string | null;

/** What an entry of the audit log says of a group: of a tenant its id, and of the operators that it was they. */
export function about(group: Group, detail: Record<string, unknown>) {
  return { tenant_id: group, detail: group === null ? { ...detail, operator: true } : detail };
}
