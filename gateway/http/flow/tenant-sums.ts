/** A sum, in all and for each tenant that has any of it. */
export class TenantSums {
  readonly #sums = new Map<string, number>();
  #total = 0;

  get total(): number {
    return this.#total;
  }

  of(tenant: string): number {
    return this.#sums.get(tenant) ?? 0;
  }

  /** The tenant with most of it; undefined where nobody has any. */
  largest(): string | undefined {
    let largest: string | undefined;
    for (const [tenant, sum] of this.#sums) {
      if (largest === undefined || sum > this.of(largest)) largest = tenant;
    }
    return largest;
  }

  /** Adds `amount`, which may be negative. */
  add(tenant: string, amount: number): void {
    const sum = this.of(tenant) + amount;
    this.#total += amount;
    if (sum === 0) this.#sums.delete(tenant);
    else this.#sums.set(tenant, sum);
  }
}
