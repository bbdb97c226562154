/** A parameter's name and its value, in order: a name may stand twice. */
export type Given = readonly (readonly [string, unknown])[];

/** One call, whoever makes it. */
export interface Asked {
  helper: string;
  given: Given;
  /** Paths of files by their fields. */
  files?: Readonly<Record<string, string>>;
}

/** How it ended, in what every surface tells. */
export type Outcome =
  | { data: unknown }
  /** In base64. */
  | { file: string }
  /** Each problem as `field problem`; of what is no problem of a field, its message. */
  | { code: string; message: string; problems: string[] };

/** How a surface takes files: sent, named by a url, or by a path. */
export type Takes = 'upload' | 'url' | 'path';

/** One of the ways to a helper. */
export interface Surface {
  takes: Takes;
  call(asked: Asked): Promise<Outcome>;
}

/** The envelope of an error, as HTTP and the command line have it. */
export interface Failure {
  code: string;
  message: string;
  details?: { field: string; problem: string }[];
}

export function failed({ code, message, details }: Failure): Outcome {
  const problems = details?.map(({ field, problem }) => `${field} ${problem}`) ?? [message];
  return { code, message, problems };
}

export function fileOf(bytes: Uint8Array): Outcome {
  return { file: Buffer.from(bytes).toString('base64') };
}

/** A value as people write it where there is only text. */
export function asText(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** JSON of an object that may have a name twice. */
export function asJson(given: Given): string {
  return `{${given.map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`).join(',')}}`;
}
