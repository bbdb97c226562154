/** What came of work that several may have waited for. */
export interface Landed<Value> {
  value: Value;
  /** Whether the work was under way already. */
  joined: boolean;
  /** Whether others get the same value. */
  shared: boolean;
}

/** Work that is done once for all who ask for it at the same time. */
export interface Flights<Value> {
  /** Whether work is under way by this key, so that `join` would wait for it. */
  has(key: string): boolean;
  /**
   * Gives what comes of the work that is under way by this key, else begins it; what it throws is told to each who waits. Who is
   * aborted stops waiting at once, with the reason of `signal`; the work itself is aborted, with the last one's reason, when
   * nobody waits any more, and whoever comes after that begins anew.
   */
  join(
    key: string,
    signal: AbortSignal,
    work: (signal: AbortSignal) => Promise<Value>,
  ): Promise<Landed<Value>>;
}

interface Flight<Value> {
  landing: Promise<Value>;
  ending: AbortController;
  waiting: number;
  /** How many waited when it ended. */
  landedWith: number | undefined;
}

/** Keys must name the tenant: nobody is to learn, by an answer or by its time, what another asks for. */
export function createFlights<Value>(): Flights<Value> {
  const underWay = new Map<string, Flight<Value>>();

  function begin(key: string, work: (signal: AbortSignal) => Promise<Value>): Flight<Value> {
    const ending = new AbortController();
    const flight: Flight<Value> = {
      ending,
      waiting: 0,
      landedWith: undefined,
      landing: Promise.resolve()
        .then(() => work(ending.signal))
        .finally(() => {
          flight.landedWith = flight.waiting;
          drop(key, flight);
        }),
    };
    underWay.set(key, flight);
    return flight;
  }

  function drop(key: string, flight: Flight<Value>): void {
    if (underWay.get(key) === flight) underWay.delete(key);
  }

  return {
    has: (key) => underWay.has(key),
    async join(key, signal, work) {
      signal.throwIfAborted();
      const found = underWay.get(key);
      const flight = found ?? begin(key, work);
      flight.waiting += 1;
      try {
        const value = await unlessAborted(flight.landing, signal);
        return { value, joined: found !== undefined, shared: (flight.landedWith ?? 0) > 1 };
      } finally {
        flight.waiting -= 1;
        if (flight.waiting === 0 && flight.landedWith === undefined) {
          drop(key, flight);
          flight.ending.abort(signal.reason);
        }
      }
    },
  };
}

/** A promise's outcome, or the signal's reason as soon as that is aborted. */
function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    signal.addEventListener('abort', abort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}
