export const dayMs = 86_400_000;

/** The UTC day of a moment (epoch milliseconds), `YYYY-MM-DD`. */
export function dayOf(at: number): string {
  return new Date(at).toISOString().slice(0, 10);
}
