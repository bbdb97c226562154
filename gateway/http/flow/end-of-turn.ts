/**
 * Waits for the end of this turn of the event loop. Answers that wait for it go out one after the other: the system call that
 * sends one costs twice as much where each wakes up its client, who has gone to sleep since the one before.
 */
export function createEndOfTurn(): () => Promise<void> {
  let end: Promise<void> | undefined;
  return function endOfTurn() {
    end ??= new Promise((resolve) => {
      setImmediate(() => {
        end = undefined;
        resolve();
      });
    });
    return end;
  };
}
