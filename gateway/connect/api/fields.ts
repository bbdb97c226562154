import {
  checkLabel,
  checkName,
  checkNumber,
  checkScopes,
  isKeyId,
  isTenantName,
  LIMIT_BOUNDS,
  MAX_GRACE_SECONDS,
  shown,
} from '../../keys/checks.js';
import { checkExpiry } from '../../keys/expiry.js';
import { knownScopes } from '../../keys/scopes.js';
import type { Site } from '../site.js';
import { type Field, type Fields, field } from './field.js';

export const tenantFields: Fields = {
  name: field(
    {
      type: 'string',
      pattern: '^[a-z0-9][a-z0-9-]{0,62}$',
      description: 'The name, which cannot be changed later.',
      examples: ['acme'],
    },
    checkName,
    { required: true },
  ),
};

export function keyFields(site: Pick<Site, 'services' | 'now'>): Fields {
  const services = site.services().map(({ id }) => id);
  return {
    label: field(
      {
        type: 'string',
        minLength: 1,
        maxLength: 100,
        description: 'Who or what uses the key.',
        examples: ['billing'],
      },
      checkLabel,
    ),
    scopes: field(
      {
        type: 'array',
        minItems: 1,
        maxItems: 100,
        items: { type: 'string', enum: knownScopes(services) },
        description:
          'Helpers that the key may call, by id or as a group; left out, it may call every helper.',
        examples: [['text/*']],
      },
      (value) => checkScopes(value, services),
    ),
    expires_at: field(
      {
        type: 'string',
        description:
          'ISO 8601, in the future: a day (its first moment in UTC), or a time with Z or an offset.',
        examples: ['2099-01-31T18:00:00Z'],
      },
      (value) => checkExpiry(value, site.now()),
    ),
  };
}

export const rotateFields: Fields = {
  grace_seconds: field(
    {
      type: 'integer',
      minimum: 0,
      maximum: MAX_GRACE_SECONDS,
      default: 86_400,
      description: 'How long the old secret goes on working; 0 ends every older one at once.',
    },
    (value) => checkNumber(value, { min: 0, max: MAX_GRACE_SECONDS, integer: true }),
  ),
};

const limitTexts = {
  rate: 'Requests a second; 0 is no limit.',
  burst: 'Requests that may come at once on top of the rate.',
  monthly_quota: 'Successful calls a calendar month (UTC).',
  in_flight: 'Tasks in the worker pool at once, waiting or running, in one gateway.',
} as const;

export const limitFields: Fields = {
  ...Object.fromEntries(
    Object.entries(LIMIT_BOUNDS).map(([name, bounds]) => [
      name,
      field(
        {
          type: [bounds.integer ? 'integer' : 'number', 'null'],
          minimum: bounds.min,
          maximum: bounds.max,
          description: `${limitTexts[name as keyof typeof limitTexts]} Null goes back to the gateway's default.`,
        },
        (value) => checkNumber(value, bounds),
        { nullable: true },
      ),
    ]),
  ),
  weight: field(
    { type: 'integer', minimum: 1, maximum: 100, description: 'Share of the workers when all are busy.' },
    (value) => checkNumber(value, { min: 1, max: 100, integer: true }),
  ),
};

/** A query parameter: text, which has to look like this. */
function text(schema: Field['schema'], fits: (value: string) => boolean, must: string): Field {
  return {
    schema: { type: 'string', ...schema },
    problem: (value) => (fits(String(value)) ? undefined : `is ${shown(value)}; it must be ${must}`),
  };
}

function whole(min: number, max: number, description: string): Field {
  const fits = (value: string) => /^\d{1,15}$/.test(value) && Number(value) >= min && Number(value) <= max;
  return text(
    { type: 'integer', minimum: min, maximum: max, description },
    fits,
    `a whole number from ${min} to ${max}`,
  );
}

const day = (description: string) =>
  text(
    { format: 'date', description },
    (value) => /^\d{4}-\d\d-\d\d$/.test(value) && !Number.isNaN(Date.parse(value)),
    'a day such as 2030-01-31',
  );

const cursor = (fits: (value: string) => boolean) =>
  text({ description: '`next` of the page before.' }, fits, 'the next of the page before, unchanged');

export const tenantQuery: Fields = {
  after: cursor(isTenantName),
  limit: whole(1, 1000, 'Tenants a page, 100 if not said.'),
};

export const keyQuery: Fields = {
  after: cursor(isKeyId),
  limit: whole(1, 1000, 'Keys a page, 100 if not said.'),
};

export const usageQuery: Fields = {
  from: day('First UTC day.'),
  to: day('Last UTC day, included.'),
  after: cursor((value) => value.length <= 1000),
  limit: whole(1, 5000, 'Rows a page, 1000 if not said.'),
};

export const auditQuery: Fields = {
  tenant: text({ description: 'Only what concerns this tenant.' }, isTenantName, "a tenant's name"),
  key: text({ description: 'Only what concerns this key.' }, isKeyId, "a key's id"),
  before: whole(1, 999_999_999_999_999, '`next` of the page before.'),
  limit: whole(1, 1000, 'Entries a page, 100 if not said.'),
};
