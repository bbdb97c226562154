/** What is looked at in a tick, and what is ended in one: an ending writes an answer or frees a connection. */
const most = { seen: 2000, ended: 25 };

export interface RoundsOptions<T> {
  isOver: (thing: T, now: number) => boolean;
  end: (thing: T) => void;
}

/**
 * Goes round things of which some may have to end, a part of them at each tick: to look at all of very many would hold the main
 * thread, and those that began together are over together. Gives what is to be called at each tick.
 */
export function goRound<T>(things: ReadonlySet<T>, { isOver, end }: RoundsOptions<T>): (now: number) => void {
  let rest = things.values();
  return function lookAtSome(now) {
    let ended = 0;
    for (let seen = 0; seen < most.seen && ended < most.ended; seen += 1) {
      const { value, done } = rest.next();
      if (done) {
        rest = things.values();
        return;
      }
      if (!isOver(value, now)) continue;
      ended += 1;
      end(value);
    }
  };
}
