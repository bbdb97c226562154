export interface LoadErrorOptions {
  /** The helper whose plugin is to blame, where one is. */
  service?: string | undefined;
  /** Whether it was the plugin's `setup`. */
  inSetup?: boolean;
  /** Whether the thread has ended of it, or is blocked, and is of no use to other helpers either. */
  endsThread?: boolean;
  cause?: unknown;
}

/** Why a worker thread never became ready. `message` is for the operator. */
export class LoadError extends Error {
  readonly service: string | undefined;
  readonly inSetup: boolean;
  readonly endsThread: boolean;

  constructor(
    message: string,
    { service, inSetup = false, endsThread = false, cause }: LoadErrorOptions = {},
  ) {
    super(message, { cause });
    this.name = 'LoadError';
    this.service = service;
    this.inSetup = inSetup;
    this.endsThread = endsThread;
  }
}
