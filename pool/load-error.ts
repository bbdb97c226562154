/** Why a worker thread never became ready. `message` is for the operator. */
export class LoadError extends Error {
  /** The helper whose plugin is to blame, where one is. */
  readonly service: string | undefined;

  constructor(message: string, { service, cause }: { service?: string | undefined; cause?: unknown } = {}) {
    super(message, { cause });
    this.name = 'LoadError';
    this.service = service;
  }
}
