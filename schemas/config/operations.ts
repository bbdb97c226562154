import { integer } from './numbers.js';
import { address } from './texts.js';
import type { Variables } from './variable.js';

/** The variables of the processes of a host, and of those who watch them. */
export const operationVariables = {
  processes: {
    name: 'HELPER_PROCESSES',
    reader: 'operations',
    form: integer({ min: 1, max: 64 }),
    default: '1',
    description:
      'Processes that `serve` on the same ports. Each has its own threads, queue and memory: what is set for these counts for one of them; the limits of a tenant hold for all together.',
  },
  otlpUrl: {
    name: 'HELPER_OTLP_URL',
    reader: 'operations',
    form: address('http', 'https'),
    description: 'Where OpenTelemetry traces go, by OTLP over HTTP, such as http://collector:4318.',
  },
} satisfies Variables;
