import { type ErrorEntry, errorTable } from '../../errors.js';
import { ofTheSite } from '../errors-of-helper.js';
import { type HeaderName, headersOf, limitHeaders } from './headers.js';
import { statusName } from './names.js';

interface Failure {
  code: string;
  entry: ErrorEntry;
}

/** Fields that answers of one status have besides. A key is looked at before limits are. */
const fields: Record<number, readonly HeaderName[]> = {
  401: ['WWW-Authenticate'],
  405: ['Allow'],
  408: [],
  429: [...limitHeaders, 'Retry-After'],
  431: [],
  503: [...limitHeaders, 'Retry-After'],
};

const byStatus = new Map<number, Failure[]>();
for (const [code, entry] of Object.entries<ErrorEntry>(errorTable)) {
  if (ofTheSite.includes(code)) continue;
  byStatus.set(entry.status, [...(byStatus.get(entry.status) ?? []), { code, entry }]);
}

/** The answers that are errors, each a component of its status: every code of the table, in the one failure envelope. */
export function failureResponses(): Record<string, object> {
  return Object.fromEntries(
    [...byStatus].map(([status, failures]) => [statusName(status), response(status, failures)]),
  );
}

/** References to them, for an operation; to all of them, or those of these statuses. */
export function failuresOf(statuses: readonly number[] = [...byStatus.keys()]): Record<string, object> {
  return Object.fromEntries(
    statuses.map((status) => [String(status), { $ref: `#/components/responses/${statusName(status)}` }]),
  );
}

function response(status: number, failures: readonly Failure[]): object {
  const codes = failures.map(({ code }) => code);
  return {
    description: failures.map(({ code, entry }) => `- \`${code}\`: ${entry.message}`).join('\n'),
    headers: headersOf(fields[status] ?? limitHeaders),
    content: {
      'application/json': {
        schema: {
          allOf: [
            { $ref: '#/components/schemas/Failure' },
            {
              type: 'object',
              properties: {
                error: { type: 'object', properties: { code: { type: 'string', enum: codes } } },
              },
            },
          ],
        },
      },
    },
  };
}
