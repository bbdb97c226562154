import { expect } from 'chai';
import { classOf, createJobNumbers, type JobNumbers } from '../../../gateway/observability/metrics.js';
import { sampleMetrics } from './sample.js';

describe('metrics', () => {
  it('class tenants by their weight, in three', () => {
    expect([1, 2, 9, 10, 100].map(classOf)).to.deep.equal(['w1', 'w2-9', 'w2-9', 'w10+', 'w10+']);
  });

  it('show how long tasks waited, of direct calls and of jobs, by class and without the tenant', async () => {
    const { started, lines } = sampleMetrics();
    started(30, { tenant: 'secret', weight: 1, most: null });
    started(40, { tenant: 'secret', weight: 20, most: null });
    started(3000, { tenant: 'secret', weight: 1, most: null, background: true });
    const written = await lines('queue_wait_seconds');
    expect(written).to.include.members([
      'helper_gateway_queue_wait_seconds_bucket{le="0.025",work="direct",class="w1"} 0',
      'helper_gateway_queue_wait_seconds_bucket{le="0.05",work="direct",class="w1"} 1',
      'helper_gateway_queue_wait_seconds_count{work="direct",class="w10+"} 1',
      'helper_gateway_queue_wait_seconds_sum{work="job",class="w1"} 3',
    ]);
    expect(written.join()).not.to.include('secret');
  });

  it('show how long bodies and downloads were on their way', async () => {
    const { left, lines } = sampleMetrics();
    left('request_timeout', 200);
    left('source_timeout', 700);
    expect(await lines('arriving_seconds_sum')).to.deep.equal([
      'helper_gateway_arriving_seconds_sum{kind="body"} 0.2',
      'helper_gateway_arriving_seconds_sum{kind="download"} 0.7',
    ]);
  });

  it('count the items of jobs, and their time with that of calls', async () => {
    const { metrics, lines } = sampleMetrics();
    metrics.observe({ service: 'a/b', code: 'ok', seconds: 0.1, taskMs: 1000 });
    metrics.observeItem({ service: 'a/b', code: 'ok', waitSeconds: 2, taskMs: 500, weight: 3 });
    metrics.observeItem({ service: 'a/b', code: 'bad_image', waitSeconds: -1, taskMs: 0, weight: 3 });
    metrics.observeWebhook('sent');
    expect(await lines('job_items_total')).to.deep.equal([
      'helper_gateway_job_items_total{service="a/b",code="ok"} 1',
      'helper_gateway_job_items_total{service="a/b",code="bad_image"} 1',
    ]);
    expect(await lines('job_item_wait_seconds_sum')).to.deep.equal([
      'helper_gateway_job_item_wait_seconds_sum{class="w2-9"} 2',
    ]);
    expect(await lines('task_seconds_total')).to.deep.equal([
      'helper_gateway_task_seconds_total{service="a/b"} 1.5',
    ]);
    expect(await lines('webhooks_total')).to.deep.equal(['helper_gateway_webhooks_total{outcome="sent"} 1']);
  });

  it('show what waits of all jobs', async () => {
    const oldestWaitingAt = Date.now() - 5000;
    const { lines } = sampleMetrics({ readJobs: async () => ({ waiting: 7, running: 2, oldestWaitingAt }) });
    expect(await lines('job_items_')).to.deep.equal([
      'helper_gateway_job_items_waiting 7',
      'helper_gateway_job_items_running 2',
    ]);
    const [line = ''] = await lines('jobs_oldest_wait_seconds');
    expect(Number(line.split(' ')[1])).to.be.within(5, 60);
  });

  it('of several processes are added up as one: sums, but for what is everybody’s', async () => {
    const readJobs = async () => ({ waiting: 7, running: 2, oldestWaitingAt: null });
    const [one, other] = [
      sampleMetrics({ readJobs }),
      sampleMetrics({ readJobs, keysAvailable: () => false }),
    ];
    for (const { metrics } of [one, other]) {
      metrics.observe({ service: 'a/b', code: 'ok', seconds: 0.1, taskMs: 0 });
    }
    const { body } = await one.metrics.text([await one.metrics.facts(), await other.metrics.facts()]);
    const lines = body.split('\n');
    expect(lines).to.include.members([
      'helper_gateway_calls_total{service="a/b",code="ok"} 2',
      'helper_gateway_call_seconds_count{service="a/b"} 2',
      'helper_gateway_job_items_waiting 7',
      'helper_gateway_keys_available 0',
    ]);
  });

  it('leave out what is unknown of jobs', async () => {
    const away = sampleMetrics({ readJobs: () => Promise.reject(new Error('away')) });
    const none = sampleMetrics();
    for (const { lines } of [away, none]) {
      expect([...(await lines('job_items_')), ...(await lines('jobs_'))]).to.deep.equal([]);
    }
  });
});

describe('numbers of jobs', () => {
  const some: JobNumbers = { waiting: 1, running: 0, oldestWaitingAt: null };
  let time: number;
  let reads: (() => Promise<JobNumbers>)[];
  let asked: number;

  beforeEach(() => {
    time = 1_000_000;
    reads = [];
    asked = 0;
  });

  function numbers(patienceMs = 10_000) {
    const read = () => {
      asked += 1;
      return (reads.shift() ?? (async () => some))();
    };
    return createJobNumbers({ read, now: () => time, patienceMs });
  }

  it('are asked for once by many readers, and again after some seconds', async () => {
    const read = numbers();
    expect(await Promise.all([read(), read(), read()])).to.deep.equal([some, some, some]);
    time += 4999;
    await read();
    expect(asked).to.equal(1);
    time += 1;
    await read();
    expect(asked).to.equal(2);
  });

  it('are those of before while the database is away, for a minute', async () => {
    const read = numbers();
    await read();
    const away = () => Promise.reject(new Error('away'));
    reads = [away, away];
    time += 59_999;
    expect(await read()).to.deep.equal(some);
    time += 1;
    expect(await read()).to.equal(undefined);
    expect(await read()).to.deep.equal(some);
  });

  it('hold no reader up that the database leaves without an answer', async () => {
    let answer: (numbers: JobNumbers) => void = () => undefined;
    reads = [() => new Promise((resolve) => (answer = resolve))];
    const read = numbers(1);
    expect(await read()).to.equal(undefined);
    expect(await read()).to.equal(undefined);
    expect(asked).to.equal(1);
    answer(some);
    await new Promise((resolve) => setImmediate(resolve));
    expect(await read()).to.deep.equal(some);
    expect(asked).to.equal(1);
  });
});
