import { expect } from 'chai';
import { LoadError } from '../../pool/load-error.js';
import { createLoadFaults } from '../../pool/load-faults.js';
import { createPlace, type Opened, type OpenOptions } from '../../pool/place.js';
import { createRoster } from '../../pool/roster.js';
import type { Thread } from '../../pool/thread.js';

const url = 'file:///plugins/x.mjs';

/** A thread that runs nothing. */
function threadLacking(...errors: LoadError[]): Thread {
  return { lacking: new Map(errors.map((error) => [url, error])) } as unknown as Thread;
}

describe('a thread’s place', () => {
  it('leaves out a plugin that ends threads only until one has loaded all', async () => {
    const fatal = new LoadError('x ended its thread', { service: 'x', endsThread: true });
    const results: Opened[] = [
      { thread: threadLacking() },
      { thread: threadLacking(fatal), error: fatal },
      { thread: threadLacking(fatal) },
      { thread: threadLacking() },
      { thread: threadLacking() },
    ];
    const asked: OpenOptions[] = [];
    const roster = createRoster(async () => undefined);
    const closing = new AbortController();
    let changed: () => void = () => undefined;
    const place = createPlace({
      async open(options) {
        asked.push(options);
        return results[asked.length - 1] as Opened;
      },
      roster,
      faults: createLoadFaults(),
      onChange: () => changed(),
      onFault: () => undefined,
      closing: closing.signal,
    });
    const isAsked = async (times: number) => {
      while (asked.length < times) await new Promise<void>((resolve) => (changed = resolve));
    };
    /** Ends the thread of that number for a task's sake. */
    const end = (index: number) => {
      const { thread } = results[index] as Opened;
      roster.remove(thread);
      asked[index]?.onEnd(thread, false);
    };

    await place.start(1);
    end(0);
    await isAsked(4);
    end(3);
    await isAsked(5);
    closing.abort();
    expect(asked.map(({ without }) => [...(without?.keys() ?? [])])).to.deep.equal([[], [], [url], [], []]);
  });
});
