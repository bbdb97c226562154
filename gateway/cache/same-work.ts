/** What others make of the same work. */
export type Landing<Value> =
  /** Theirs as well. */
  | { kind: 'same'; value: Value }
  /** Failed, as theirs would have. */
  | { kind: 'failed'; error: unknown }
  /** Came to what is nobody else's: each does it for itself. */
  | { kind: 'apart' }
  /** Was given up by the one who did it, whose client has gone: another does it. */
  | { kind: 'given up' };

/** Comes when nobody waits for a call any more. */
export interface Gone {
  readonly ended: boolean;
  /** Costs something to make: asked for by those alone who wait. */
  readonly signal: AbortSignal;
}

/** One who wants the work done. */
export interface Passenger<Value> {
  work: () => Promise<Value>;
  /** Whether others may have what came of it. */
  isCommon: (value: Value) => boolean;
  /** Whether its client has gone. */
  gone: Gone;
  /** Told when this one begins to wait for another's work; may come several times. */
  onWait?: () => void;
}

/** The same work is done once for all who want it at the same time. */
export interface Flights<Value> {
  /** What came of the work of this name, and whether it was another's; throws as it did. */
  share(name: string, passenger: Passenger<Value>): Promise<{ value: Value; shared: boolean }>;
}

export function createFlights<Value>(): Flights<Value> {
  const flights = new Map<string, Promise<Landing<Value>>>();

  async function lead(name: string, { work, isCommon, gone }: Passenger<Value>): Promise<Value> {
    let land: (landing: Landing<Value>) => void = () => undefined;
    flights.set(name, new Promise((resolve) => (land = resolve)));
    const end = (landing: Landing<Value>) => {
      flights.delete(name);
      land(landing);
    };
    try {
      const value = await work();
      end(isCommon(value) ? { kind: 'same', value } : { kind: 'apart' });
      return value;
    } catch (error) {
      end(gone.ended ? { kind: 'given up' } : { kind: 'failed', error });
      throw error;
    }
  }

  return {
    async share(name, passenger) {
      for (;;) {
        const flight = flights.get(name);
        if (!flight) return { value: await lead(name, passenger), shared: false };
        passenger.onWait?.();
        const landing = await orGone(flight, passenger.gone.signal);
        if (landing.kind === 'same') return { value: landing.value, shared: true };
        if (landing.kind === 'failed') throw landing.error;
        if (landing.kind === 'apart') return { value: await passenger.work(), shared: false };
      }
    },
  };
}

/** Rejects with the signal's reason where that comes first; leaves nothing behind at it. */
function orGone<T>(waited: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const leave = () => reject(signal.reason);
    if (signal.aborted) return leave();
    signal.addEventListener('abort', leave, { once: true });
    void waited.then((value) => {
      signal.removeEventListener('abort', leave);
      resolve(value);
    });
  });
}
