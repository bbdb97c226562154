/** A sum, in all and for each tenant that has any of it. */
export class TenantSums {
  readonly #sums = new Map<string, number>();
  /** At each place the tenants whose sum is 2 to the power of it, or up to twice that. */
  readonly #alike: Set<string>[] = [];
  #total = 0;

  get total(): number {
    return this.#total;
  }

  of(tenant: string): number {
    return this.#sums.get(tenant) ?? 0;
  }

  /**
   * One of the tenants with most of it: none has twice as much. Undefined where nobody has any. Takes as long for one tenant as for
   * ten thousand, which who is refused must not pay for.
   */
  largest(): string | undefined {
    const [tenant] = this.#alike.findLast((tenants) => tenants.size > 0) ?? [];
    return tenant;
  }

  /** Adds whole `amount`, which may be negative but leaves no less than 0. */
  add(tenant: string, amount: number): void {
    const before = this.of(tenant);
    const sum = before + amount;
    this.#total += amount;
    if (sum === 0) this.#sums.delete(tenant);
    else this.#sums.set(tenant, sum);
    const [from, to] = [powerOf(before), powerOf(sum)];
    if (from === to) return;
    this.#alike[from]?.delete(tenant);
    while (this.#alike.length <= to) this.#alike.push(new Set());
    this.#alike[to]?.add(tenant);
  }
}

/** −1 for nothing. The logarithm, which takes longer, only for what has more than 32 bits. */
function powerOf(sum: number): number {
  return sum < 2 ** 32 ? 31 - Math.clz32(sum) : Math.floor(Math.log2(sum));
}
