import { expect } from 'chai';
import { variables } from '../../schemas/config/config.js';
import { readText } from '../readme.js';

interface Schema {
  description?: string;
  type?: string;
  additionalProperties?: unknown;
  properties?: Record<string, Schema>;
}

const schema = JSON.parse(readText('.deploy/chart/values.schema.json')) as Schema;

/** What the chart sets by itself, what is secret, and what only commands read. */
const own = [
  ...'HOST PORT CONNECT_HOST CONNECT_PORT HELPER_DATA_DIR HELPER_WORK_PORT HELPER_PLUGINS'.split(' '),
  ...'HELPER_RESULTS_URL DATABASE_URL REDIS_URL HELPER_OPERATOR_TOKEN HELPER_SIGNING_SECRET'.split(' '),
  ...'HELPER_OIDC_CLIENT_SECRET HELPER_KEY AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY'.split(' '),
  ...'AWS_SESSION_TOKEN'.split(' '),
];

describe("the schema of the chart's values", () => {
  it('knows each of the variables, but for secrets and what the chart sets', () => {
    const names = variables.map(({ name }) => name).filter((name) => !own.includes(name));
    expect(Object.keys(schema.properties?.env?.properties ?? {})).to.have.members(names);
  });

  it('says what each value is for, and lets no other pass', () => {
    const silent: string[] = [];
    const open: string[] = [];
    const walk = (path: string, { properties, description, additionalProperties }: Schema) => {
      if (!description && !path.startsWith('.env.')) silent.push(path);
      if (properties && additionalProperties !== false) open.push(path);
      for (const [name, below] of Object.entries(properties ?? {})) walk(`${path}.${name}`, below);
    };
    walk('', schema);
    expect({ silent, open }).to.deep.equal({ silent: [], open: [] });
  });
});
