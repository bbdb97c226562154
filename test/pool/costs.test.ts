import { expect } from 'chai';
import { Costs } from '../../pool/scheduler.js';
import type { CallTask, Task } from '../../pool/task.js';
import { callTask } from './worker-settings.js';

function call(service: string, variant?: string, does: CallTask['does'] = 'handler'): CallTask {
  const task = { ...callTask(service), does };
  return variant === undefined ? task : { ...task, variant };
}

function learn(costs: Costs, task: Task, ms: number, times = 30, ok = true): void {
  for (let i = 0; i < times; i += 1) costs.learn(task, ms, ok);
}

describe('what tasks are likely to cost', () => {
  const png = call('border', 'png');
  const avif = call('border', 'avif');

  it('is a typical task’s until one of the kind has ended, then its own', () => {
    const costs = new Costs();
    learn(costs, png, 60);
    expect(costs.estimate(avif)).to.be.closeTo(60, 3);
    costs.learn(avif, 900, true);
    expect(costs.estimate(avif)).to.equal(900);
    expect(costs.estimate(png)).to.be.closeTo(60, 3);
  });

  it('follows what they take', () => {
    const costs = new Costs();
    costs.learn(avif, 900, true);
    learn(costs, avif, 300);
    expect(costs.estimate(avif)).to.be.closeTo(300, 5);
  });

  it('is not made less by calls that fail early, and is made more by those that fail late', () => {
    const costs = new Costs();
    costs.learn(avif, 900, true);
    learn(costs, avif, 1, 30, false);
    expect(costs.estimate(avif)).to.equal(900);
    costs.learn(avif, 10_000, false);
    expect(costs.estimate(avif)).to.be.greaterThan(2000);
  });

  it('in places is how often the lightest kind of the helper goes into it', () => {
    const costs = new Costs();
    learn(costs, png, 200);
    learn(costs, avif, 1400);
    expect([costs.slots(png), costs.slots(avif)]).to.deep.equal([1, 7]);
  });

  it('in places is one where the helper’s calls are alike, however long they take, and where nothing is known', () => {
    const costs = new Costs();
    learn(costs, call('summary'), 5000);
    learn(costs, png, 1);
    expect(costs.slots(call('summary'))).to.equal(1);
    expect(costs.slots(avif)).to.equal(1);
  });

  it('in places is one for all that is short, and sixteen at most', () => {
    const costs = new Costs();
    learn(costs, png, 2);
    learn(costs, call('border', 'webp'), 90);
    learn(costs, avif, 1e6);
    expect([costs.slots(call('border', 'webp')), costs.slots(avif)]).to.deep.equal([1, 16]);
  });

  it('is another for dry runs, and for what is no call', () => {
    const costs = new Costs();
    learn(costs, png, 1000);
    const preview: Task = { kind: 'preview', bytes: new Uint8Array(1), maxBytes: 9 };
    learn(costs, preview, 10, 60);
    expect(costs.estimate(call('border', 'png', 'dryrun'))).to.be.closeTo(10, 5);
    expect(costs.estimate(preview)).to.be.closeTo(10, 1);
    expect(costs.estimate(png)).to.equal(1000);
  });
});
