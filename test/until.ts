/**
 * Waits until something is so, however long a busy machine takes; where it never is, the test ends by its own time limit.
 * Gives what the condition gave. It keeps no process alive.
 */
export async function until<T>(condition: () => T | Promise<T>): Promise<T> {
  for (;;) {
    const found = await condition();
    if (found) return found;
    await new Promise<void>((resolve) => {
      setTimeout(resolve, 5).unref();
    });
  }
}
