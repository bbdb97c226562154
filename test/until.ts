type Truthy<T> = Exclude<T, undefined | null | false | 0 | ''>;

/**
 * Waits until something is so, however long a busy machine takes; where it never is, the test ends by its own time limit.
 * Gives what the condition gave. It keeps no process alive.
 */
export async function until<T>(condition: () => T | Promise<T>): Promise<Truthy<T>> {
  for (;;) {
    const found = await condition();
    if (found) return found as Truthy<T>;
    await new Promise<void>((resolve) => {
      setTimeout(resolve, 5).unref();
    });
  }
}
