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

/** Of what was tried first, a turn has at most so many times as much: that was slow, as V8 had still to compile. */
const most = 50;

/**
 * Lets the contenders work in turns, so that whatever else the machine does befalls all of them alike. A turn is as many pieces as take
 * about `turnMs` of processor time, `fewest` at least: so many have to cost more than the clock's step. Each second round goes backwards; the first one, in which V8 still compiles, is not counted.
 */
export async function inTurns<const Contenders extends readonly Contender[]>(
  contenders: Contenders,
  { turnMs = 300, rounds = 5, fewest = 4 } = {},
): Promise<{ -readonly [At in keyof Contenders]: Cost }> {
  const turns: Turn[] = [];
  for (const contender of contenders) {
    turns.push({ contender, pieces: await sizeTurn(contender, turnMs, fewest), seen: [] });
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

async function sizeTurn(contender: Contender, turnMs: number, fewest: number): Promise<number> {
  const { cpuMs } = await takeTurn(contender, fewest);
  return Math.min(most * fewest, Math.max(fewest, Math.round(turnMs / cpuMs)));
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
