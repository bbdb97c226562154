/** A value that may be there already: to wait for one that is costs a call as much as many a stage does. */
export type MaybePromise<T> = T | Promise<T>;

/** Goes on with a value, at once where it is there. */
export function after<T, R>(value: MaybePromise<T>, go: (value: T) => MaybePromise<R>): MaybePromise<R> {
  return value instanceof Promise ? value.then(go) : go(value);
}

/** Does work and tells how it ended, once, whether it throws or rejects. */
export function onSettled<T>(
  work: () => MaybePromise<T>,
  { done, failed }: { done: () => void; failed: (error: unknown) => void },
): MaybePromise<T> {
  const fail = (error: unknown): never => {
    failed(error);
    throw error;
  };
  let value: MaybePromise<T>;
  try {
    value = work();
  } catch (error) {
    return fail(error);
  }
  const finish = (result: T): T => {
    done();
    return result;
  };
  return value instanceof Promise ? value.then(finish, fail) : finish(value);
}
