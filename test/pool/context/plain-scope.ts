import { CallScope, createRedactor } from '../../../pool/context/handler-context.js';
import type { CallIds, Fetched, FetchRequest, LogLine } from '../../../pool/context/messages.js';

/** A call for which requests and lines are kept; each request is answered by `answer`. */
export class PlainScope extends CallScope {
  readonly requests: FetchRequest[] = [];
  readonly lines: LogLine[];
  answer: (request: FetchRequest) => Promise<Fetched> = () => new Promise(() => {});

  constructor({ secrets = [], ...ids }: Partial<CallIds> & { secrets?: string[] } = {}) {
    const lines: LogLine[] = [];
    super(
      { service: 'some', request_id: 'r', ...ids },
      { logLevel: 'info', write: (line) => lines.push(line) },
      createRedactor(secrets),
    );
    this.lines = lines;
  }

  protected override ask(request: FetchRequest): Promise<Fetched> {
    this.requests.push(request);
    return this.answer(request);
  }
}
