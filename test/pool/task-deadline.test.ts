import { expect } from 'chai';
import { createTaskDeadline } from '../../pool/task-deadline.js';

describe('the deadline of a thread’s tasks', () => {
  /** What is told of a task of a millisecond, until `last` has been, or where there is `none` for some time. */
  function told(
    last: 'time' | 'over',
    { none = false, runs = true, isDebugged = (): boolean => false } = {},
  ): Promise<string[]> {
    const events: string[] = [];
    return new Promise((resolve) => {
      const tell = (event: string) => {
        events.push(event);
        if (event !== last) return;
        deadline.close();
        resolve(events);
      };
      const deadline = createTaskDeadline({
        onTime: () => {
          tell('time');
          return runs;
        },
        onOver: () => tell('over'),
        isDebugged,
      });
      deadline.begin(1);
      // Where nothing is to be told; the deadline keeps no process alive.
      if (none) setTimeout(() => resolve(events), 600);
    });
  }

  it('gives a task that was told a grace', async () => {
    expect(await told('over')).to.deep.equal(['time', 'over']);
  });

  it('ends nothing where none runs any more', async () => {
    expect(await told('over', { none: true, runs: false })).to.deep.equal(['time']);
  });

  it('is none while somebody steps through the code', async () => {
    expect(await told('over', { none: true, isDebugged: () => true })).to.deep.equal([]);
  });

  it('is the last task’s alone, whatever the one before had', async () => {
    const events: string[] = [];
    const deadline = createTaskDeadline({
      onTime: () => events.push('time') > 0,
      onOver: () => events.push('over'),
      isDebugged: () => false,
    });
    deadline.begin(20);
    deadline.begin(10_000);
    await new Promise((resolve) => setTimeout(resolve, 60));
    deadline.close();
    expect(events).to.deep.equal([]);
  });
});
