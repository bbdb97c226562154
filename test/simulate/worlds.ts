import { peakCalls } from './demand.js';
import { simulate, Tally } from './fleet.js';
import { type Measured, product, world } from './measure.js';

/** So many gateways are simulated for any larger number: they share nothing but what stands behind them. */
const sample = 12;

type Fleet = { gateways: number; from: Measured };

function common({ gateways, from }: Fleet) {
  const simulated = Math.min(gateways, sample);
  return {
    gateways: simulated,
    cores: world.cores.value,
    queue: product.queue.value,
    tenants: world.tenantsPerGateway.value * gateways,
    costs: from,
    seed: 20_261_122 + gateways,
    /** Calls a second that take this part of all cores. */
    callsAt: (load: number) => (simulated * peakCalls(from) * load) / world.peakLoad.value,
  };
}

/** A day of two minutes: night at both ends. */
export function simulateDay(fleet: Fleet) {
  const { callsAt, ...scenario } = common(fleet);
  const [night, peak, between] = [new Tally(), new Tally(), new Tally()];
  const seconds = 120;
  const swing = world.peakLoad.value - world.nightLoad.value;
  simulate({
    ...scenario,
    seconds,
    rate: (at) => callsAt(world.nightLoad.value + (swing * (1 - Math.cos((2 * Math.PI * at) / seconds))) / 2),
    tallyOf: (at) => {
      if (Math.abs(at - seconds / 2) < 10) return peak;
      return at < 10 || at > seconds - 10 ? night : between;
    },
  });
  return { night, peak };
}

/** Half of the cores are busy when one tenant begins to ask for as much as all of them have. */
export function simulateHotTenant(fleet: Fleet) {
  const { callsAt, ...scenario } = common(fleet);
  const [before, others, hot] = [new Tally(), new Tally(), new Tally()];
  simulate({
    ...scenario,
    seconds: 60,
    rate: () => callsAt(0.5),
    hotRate: (at) => (at < 20 ? 0 : callsAt(1)),
    tallyOf: (at, isHot) => (isHot ? hot : at < 20 ? before : others),
  });
  return { before, others, hot };
}

/** At the hour with the most calls a third of the gateways goes, and comes back as fast as they can be started elsewhere. */
export function simulateLostZone(fleet: Fleet) {
  const { callsAt, ...scenario } = common(fleet);
  const [before, during, after] = [new Tally(), new Tally(), new Tally()];
  const [from, to] = [30, 30 + world.autoscalerSeconds.value];
  simulate({
    ...scenario,
    seconds: to + 40,
    rate: () => callsAt(world.peakLoad.value),
    loss: { part: 1 / 3, from, to },
    tallyOf: (at) => (at < from ? before : at < to ? during : after),
  });
  return { before, during, after };
}
