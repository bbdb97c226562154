/** A value that a plugin takes from the environment. */
export interface ConfigField {
  /** The variable, such as `TRANSLATE_API_KEY`; not one of the gateway's own, which begin with `HELPER_`. */
  readonly env: string;
  /** Whether it is never shown. */
  readonly secret?: boolean;
  /** What holds where the variable is not set. */
  readonly default?: string;
  /** Whether the gateway does not start without it. */
  readonly required?: boolean;
  readonly description?: string;
}

export type ConfigFields = { readonly [name: string]: ConfigField };

/** `context.config`: what is neither required nor defaulted may be undefined. */
export type ConfigOf<Config> = keyof Config extends never
  ? Record<never, never>
  : { readonly [Name in keyof Config]: string | (Config[Name] extends Given ? never : undefined) };
type Given = { required: true } | { default: string };
