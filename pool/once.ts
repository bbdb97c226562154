/**
 * Makes something when it is first needed, and anew only where that has failed. The failure is for whoever needs it, and must not end
 * the thread before that.
 */
export function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => {
    made ??= make().catch((error) => {
      made = undefined;
      throw error;
    });
    made.catch(() => undefined);
    return made;
  };
}
