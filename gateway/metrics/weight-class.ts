/**
 * Tenants by what they were given, which is their class: of tenants there may be any number, and of a metric's labels may not. Most
 * have the weight of 1 that a tenant begins with; those with more were told to be served better, and a few far better.
 */
export type WeightClass = 'w1' | 'w2-9' | 'w10+';

/** The class of a tenant, by its weight (1 to 100). */
export function classOf(weight: number): WeightClass {
  if (weight >= 10) return 'w10+';
  return weight >= 2 ? 'w2-9' : 'w1';
}
