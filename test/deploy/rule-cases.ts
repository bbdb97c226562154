/** A series as promtool writes them: a value a minute, from the first. */
export interface Series {
  series: string;
  values: string;
}

/** What must set off an alert, when, and what is near to it and must not. */
export interface RuleCase {
  fires: Series[];
  quiet: Series[];
  /** Labels that it then has besides its own name and severity. */
  labels: Record<string, string>;
  severity: 'critical' | 'warning';
  /** By then it fires. */
  at: string;
}

const one = 'instance="a",job="gateway",namespace="n"';
const of = { job: 'gateway', namespace: 'n' };
const each = { ...of, instance: 'a' };

function series(name: string, labels: string, values: string): Series {
  return { series: `helper_gateway_${name}{${one}${labels && `,${labels}`}}`, values };
}

/** Calls at 100 a minute, and so many with this code. */
function calls(code: string, perMinute: number): Series[] {
  return [
    series('calls_total', 'service="a/b",code="ok"', '0+100x60'),
    series('calls_total', `service="a/b",code="${code}"`, `0+${perMinute}x60`),
  ];
}

/** A histogram of which nine in ten are below the first bound, and the others are above the second or between the two. */
function histogram(name: string, labels: string, { fast, slow }: { fast: number; slow: number }): Series[] {
  const bucket = (le: string, perMinute: number) =>
    series(`${name}_bucket`, `${labels},le="${le}"`, `0+${perMinute}x60`);
  return [bucket('0.5', fast), bucket('10', fast + slow), bucket('+Inf', fast + slow)];
}

const waiting = (seconds: number) => series('jobs_oldest_wait_seconds', '', `${seconds}x120`);
const items = (code: string, perMinute: number) =>
  series('job_items_total', `service="a/b",code="${code}"`, `0+${perMinute}x120`);
const direct = 'work="direct",class="w1"';

/** One case an alert. */
export const ruleCases: Record<string, RuleCase> = {
  HelperGatewayGone: {
    fires: [],
    quiet: [series('pool_threads', '', '2x60')],
    labels: {},
    severity: 'critical',
    at: '10m',
  },
  HelperGatewayKeysUnavailable: {
    fires: [series('keys_available', '', '1x4 0x20')],
    quiet: [series('keys_available', '', '1x4 0 1x20')],
    labels: each,
    severity: 'critical',
    at: '10m',
  },
  HelperGatewayNoThreads: {
    fires: [series('pool_threads', '', '2x4 0x20')],
    quiet: [series('pool_threads', '', '2x4 0 1x20')],
    labels: each,
    severity: 'critical',
    at: '10m',
  },
  HelperGatewayFaults: {
    fires: calls('internal', 5),
    quiet: [...calls('internal', 1), ...calls('source_failed', 50).slice(1)],
    labels: of,
    severity: 'critical',
    at: '20m',
  },
  HelperGatewayRefusesCalls: {
    fires: calls('busy', 3),
    quiet: calls('tenant_busy', 50),
    labels: of,
    severity: 'warning',
    at: '20m',
  },
  HelperGatewayQueueWait: {
    fires: histogram('queue_wait_seconds', direct, { fast: 90, slow: 10 }),
    quiet: [
      ...histogram('queue_wait_seconds', direct, { fast: 99, slow: 1 }),
      ...histogram('queue_wait_seconds', 'work="job",class="w1"', { fast: 0, slow: 10 }),
    ],
    labels: of,
    severity: 'warning',
    at: '30m',
  },
  HelperGatewaySlow: {
    fires: histogram('call_seconds', 'service="a/b"', { fast: 90, slow: 10 }),
    quiet: histogram('call_seconds', 'service="a/b"', { fast: 999, slow: 1 }),
    labels: { ...of, service: 'a/b' },
    severity: 'warning',
    at: '30m',
  },
  HelperGatewayEventLoopLag: {
    fires: [
      { series: `nodejs_eventloop_lag_p99_seconds{${one}}`, values: '0.5x60' },
      series('pool_threads', '', '2x60'),
    ],
    quiet: [
      { series: 'nodejs_eventloop_lag_p99_seconds{instance="b",job="another"}', values: '0.5x60' },
      { series: `nodejs_eventloop_lag_p99_seconds{${one}}`, values: '0.1x60' },
      series('pool_threads', '', '2x60'),
    ],
    labels: each,
    severity: 'warning',
    at: '20m',
  },
  HelperGatewayJobsStuck: {
    fires: [waiting(1000), items('ok', 0)],
    quiet: [waiting(1000), items('ok', 1)],
    labels: of,
    severity: 'critical',
    at: '30m',
  },
  HelperGatewayJobsWait: {
    fires: [waiting(4000), items('ok', 1)],
    quiet: [waiting(3000), items('ok', 1)],
    labels: of,
    severity: 'warning',
    at: '30m',
  },
  HelperGatewayJobItemsFail: {
    fires: [items('ok', 90), items('internal', 10)],
    quiet: [items('ok', 50), items('bad_image', 50), items('internal', 1)],
    labels: of,
    severity: 'warning',
    at: '30m',
  },
  HelperGatewayWebhooksGivenUp: {
    fires: [series('webhooks_total', 'outcome="given_up"', '0x10 1x60')],
    quiet: [series('webhooks_total', 'outcome="failed"', '0+1x60')],
    labels: of,
    severity: 'warning',
    at: '30m',
  },
};
