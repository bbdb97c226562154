import { GatewayError } from '../../../errors.js';
import type { Source } from '../../../source/fetch.js';

/** The door to the network: generated inputs are nobody else's to answer. */
export interface Network {
  open: boolean;
  guard(source: Source): Source;
}

/** Makes it closed: all that is fetched is refused until it is opened. */
export function createNetwork(): Network {
  const network: Network = {
    open: false,
    guard: (source) => ({
      ...source,
      fetch: (...given) => (network.open ? source.fetch(...given) : refuse()),
    }),
  };
  return network;
}

async function refuse(): Promise<never> {
  throw new GatewayError('source_refused', {
    message: 'Nothing is fetched here; --network lets examples fetch.',
  });
}
