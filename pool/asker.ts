/** Whose work it is. */
export interface Asker {
  tenant: string;
  /** The tenant's share relative to the others', a whole number above 0. */
  weight: number;
  /** Places that the tenant may hold at a time, or null for no limit of its own. */
  most: number | null;
  /** Whether it can wait: its tasks then stand behind every other's. */
  behind?: boolean;
}
