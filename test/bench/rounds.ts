/** One of those that are compared. */
export interface Contender {
  /** Does the same piece of work so many times. */
  work(pieces: number): Promise<void>;
  /** Milliseconds of processor time that the work has taken so far, of whatever process does it. */
  cpuMs(): number;
}

/** Medians over the rounds, of one piece. */
export interface Cost {
  cpuMs: number;
  /** By the clock; means something only on a machine with nothing else to do. */
  perSecond: number;
}

interface Turn {
  contender: Contender;
  pieces: number;
  seen: Cost[];
}

/** As many as work at a time. */
const fewest = 4;
const most = 200;

/**
 * Lets the contenders work in turns, so that whatever else the machine does befalls all of them alike. A turn is as many pieces as take
 * about `turnMs` of processor time. Each second round goes backwards; the first one, in which V8 still compiles, is not counted.
 */
export async function inTurns<const Contenders extends readonly Contender[]>(
  contenders: Contenders,
  { turnMs = 300, rounds = 5 } = {},
): Promise<{ -readonly [At in keyof Contenders]: Cost }> {
  const turns: Turn[] = [];
  for (const contender of contenders) {
    const { cpuMs } = await takeTurn(contender, fewest);
    const pieces = Math.min(most, Math.max(fewest, Math.round(turnMs / cpuMs)));
    turns.push({ contender, pieces, seen: [] });
  }
  for (let round = 0; round <= rounds; round += 1) {
    for (const { contender, pieces, seen } of round % 2 === 0 ? turns : turns.toReversed()) {
      const cost = await takeTurn(contender, pieces);
      if (round > 0) seen.push(cost);
    }
  }
  const costs = turns.map(({ seen }) => ({
    cpuMs: median(seen.map(({ cpuMs }) => cpuMs)),
    perSecond: median(seen.map(({ perSecond }) => perSecond)),
  }));
  return costs as { -readonly [At in keyof Contenders]: Cost };
}

async function takeTurn({ work, cpuMs }: Contender, pieces: number): Promise<Cost> {
  const [began, before] = [performance.now(), cpuMs()];
  await work(pieces);
  const seconds = (performance.now() - began) / 1000;
  return { cpuMs: (cpuMs() - before) / pieces, perSecond: pieces / seconds };
}

export function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN;
}

export function geometricMean(values: readonly number[]): number {
  return Math.exp(values.reduce((sum, value) => sum + Math.log(value), 0) / values.length);
}
