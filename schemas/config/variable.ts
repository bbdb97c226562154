/** A kind of value: how text becomes one, which are right, and the words for it. */
export interface Form<T> {
  /** Gives undefined for text that is not of this form. */
  read(text: string): T | undefined;
  /** Whether a value that was read is within the bounds. */
  fits(value: T): boolean;
  /** What is wanted, as messages end: `must be …`. */
  wanted: string;
}

/** The parts of the gateway that variables are for, by the headings of the README's tables. */
export const readers = {
  api: 'The API',
  site: 'The key-management site',
  database: 'Database and Redis',
  pool: 'Plugins and the pool',
  input: 'Pictures and text',
  pages: 'Pictures on web pages',
  jobs: 'Jobs and workers',
  flow: 'What arrives and what leaves',
  limits: 'Limits of a tenant',
  operations: 'Processes and traces',
  log: 'The log',
} as const;

/** A default that depends on the host. */
export interface HostDefault<T> {
  /** What the README calls it. */
  shown: string;
  value(env: Readonly<Record<string, string | undefined>>): T;
}

/**
 * One environment variable. All that is said about it stands here alone: configuration, its type and schema, messages and
 * README are made from it.
 */
export interface Variable<T = unknown> {
  name: string;
  /** The part that reads it. */
  reader: keyof typeof readers;
  form: Form<T>;
  /** As it would be written in the environment. The setting of a variable without one is optional. */
  default?: string | HostDefault<T>;
  description: string;
}

/** Variables by the names that their settings have in the configuration. */
export type Variables = Readonly<Record<string, Variable>>;
