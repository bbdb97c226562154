import type { Form, Variable } from './forms.js';
import {
  apiVariables,
  databaseVariables,
  logVariables,
  operationVariables,
  pageVariables,
  siteVariables,
} from './service.js';
import { flowVariables, inputVariables, jobVariables, limitVariables, poolVariables } from './work.js';

const settings = {
  ...apiVariables,
  ...siteVariables,
  ...databaseVariables,
  ...poolVariables,
  ...inputVariables,
  ...pageVariables,
  ...jobVariables,
  ...flowVariables,
  ...limitVariables,
  ...operationVariables,
  ...logVariables,
};

type Settings = typeof settings;
type Value<S extends keyof Settings> = Settings[S]['form'] extends Form<infer T> ? T : never;
/** What the environment need not hold, because there is a default. */
type Preset = { [S in keyof Settings]: 'default' extends keyof Settings[S] ? S : never }[keyof Settings];

/**
 * The configuration, frozen: a setting for each variable, undefined where it has no default and is not set. Times are
 * milliseconds, sizes bytes, `maxPixels` width × height × frames, `rate` requests a second (0 is no limit), origins
 * `scheme://host[:port]` as URL writes them; `corsOrigins` may be `['*']`.
 */
export type Config = Readonly<
  { [S in Preset]: Value<S> } & { [S in Exclude<keyof Settings, Preset>]?: Value<S> }
>;

/** Every variable that the gateway reads, with the name of its setting. */
export const variables: readonly (Variable & { setting: string })[] = Object.entries<Variable>(settings).map(
  ([setting, variable]) => ({ setting, ...variable }),
);

/** Variables of which all are set, or none. */
export const together: readonly (readonly Variable[])[] = [
  [settings.oidcIssuer, settings.oidcClientId, settings.oidcClientSecret],
];
