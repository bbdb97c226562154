/** Reads a list that comes in pages to its end. */
export async function allPages<T>(
  read: (after: string | undefined) => Promise<{ items: T[]; next: string | null }>,
): Promise<T[]> {
  const all: T[] = [];
  let after: string | undefined;
  do {
    const { items, next } = await read(after);
    all.push(...items);
    after = next ?? undefined;
  } while (after !== undefined);
  return all;
}
