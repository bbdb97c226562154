import { didYouMean } from '../../../schemas/nearest.js';
import { quote } from '../../../schemas/quote.js';
import type { Registry } from '../../helpers/registry.js';

/** What to say where no helper of this name is there, or none was named: which there are. The first line says it alone. */
export function unknownHelper(service: string | undefined, registry: Registry): string {
  const ids = [...registry.keys()];
  const width = Math.max(...ids.map((id) => id.length));
  const list = [...registry.values()].map(
    ({ id, declaration }) => `  ${id.padEnd(width)}  ${declaration.summary}`,
  );
  const first = service ? `there is no helper ${quote(service)}${didYouMean(service, ids)}` : 'name a helper';
  return [
    service === undefined ? 'Usage: helper-gateway call SERVICE [--parameter value …] [FILES…]' : first,
    '',
    ...list,
    '',
    'helper-gateway call SERVICE --help shows its parameters.',
  ].join('\n');
}
