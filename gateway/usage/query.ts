import { compileFields, type Fields, type FieldsSchema } from '../../schemas/fields.js';
import { createAdminVocabulary } from '../../schemas/vocabulary/admin.js';

export interface UsageQuery {
  /** First UTC day, `YYYY-MM-DD`. */
  from?: string;
  /** Last UTC day, included. */
  to?: string;
  /** Rows a page, 1 to 5000; default 1000. */
  limit?: number;
  /** `next` of the page before. */
  after?: string;
}

export type JudgedUsageQuery = UsageQuery & { limit: number };

const usageSchema: FieldsSchema = {
  properties: {
    from: { type: 'string', day: true, description: 'First UTC day.' },
    to: { type: 'string', day: true, description: 'Last UTC day, included.' },
    after: {
      type: 'string',
      maxLength: 1000,
      form: 'the next of the page before, unchanged',
      description: '`next` of the page before.',
    },
    limit: { type: 'integer', minimum: 1, maximum: 5000, default: 1000, description: 'Rows a page.' },
  },
};

/** Compiles the judge of what a report on usage may be asked. */
export function createUsageInput(): Fields<JudgedUsageQuery> {
  return compileFields(createAdminVocabulary({ knownScopes: () => [], now: Date.now }), usageSchema);
}
